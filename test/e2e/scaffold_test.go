package e2e

import (
	"path/filepath"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestScaffold applies what is scaffolded for a role, as it is written.
func TestScaffold(t *testing.T) {
	t.Parallel()

	// Each role writes what it is told, and removes it when it is told to.
	tasks := func(state string) string {
		return `
- ansible.builtin.copy: {dest: "{{ directory }}/written", content: "{{ [site_title, options] | to_json(sort_keys=True) }}"}
  when: ` + state + ` == 'present'
- ansible.builtin.file: {path: "{{ directory }}/written", state: absent}
  when: ` + state + ` == 'absent'
`
	}

	cases := map[string]struct {
		reason string
		files  map[string]string
		flags  string
		kind   string
		want   string
	}{
		"Specifications": {
			reason: "What is required has a value to replace, and what is nested keeps its names and defaults.",
			files: map[string]string{
				"roles/specified/tasks/main.yml": tasks("site_state"),
				"roles/specified/meta/argument_specs.yml": `
argument_specs:
  main:
    short_description: A site
    options:
      site_title: {type: str, required: true}
      site_state: {choices: [present, absent], default: present}
      options:
        type: dict
        default: {max_size: 10}
        options:
          max_size: {type: int, default: 10}
          mode: {choices: [fast, small]}
`,
			},
			kind: "Specified",
			want: `["example", {"max_size": 10}]`,
		},
		"Defaults": {
			reason: "A role without specifications gets the types, and keeps the values, of its defaults.",
			files: map[string]string{
				"roles/plain/tasks/main.yml":    tasks("ansible_provider_meta.managed_resource.state"),
				"roles/plain/defaults/main.yml": "site_title: Hello\noptions: {max_size: 10, list: [1]}\n",
			},
			kind: "Plain",
			want: `["Hello", {"list": [1], "max_size": 10}]`,
		},
		"Cluster": {
			reason: "Cluster scoped XRs work as they are written, too.",
			files: map[string]string{
				"roles/clustered/tasks/main.yml":    tasks("ansible_provider_meta.managed_resource.state"),
				"roles/clustered/defaults/main.yml": "site_title: Hello\noptions: []\n",
			},
			flags: " --scope=Cluster --names=AsIs",
			kind:  "Clustered",
			want:  `["Hello", []]`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			// The role is told where to write by a default of its own, in a
			// file that only Ansible reads.
			dir, role := directory(t), ""
			for path := range tc.files {
				role = filepath.Base(filepath.Dir(filepath.Dir(path)))
			}
			tc.files["roles/"+role+"/vars/main.yml"] = "directory: " + dir + "\n"
			source := collection{Namespace: "acme", Name: "scaffolded", Version: "1.0.0", Files: tc.files}.Git(t)

			sh := newShell(t)
			sh.Write(t, "requirements.yml", "collections:\n- {name: "+source+", type: git, version: 1.0.0}\n")
			sh.Run(t, "function-ansible scaffold --role acme.scaffolded."+role+" -f requirements.yml -o out"+tc.flags)
			sh.Run(t, "function-ansible validate out/composition.yaml out/xrd.yaml")

			objs := cp.Apply(t, readFile(t, filepath.Join(sh.Dir, "out/xrd.yaml"))+"\n---\n"+readFile(t, filepath.Join(sh.Dir, "out/composition.yaml"))+
				"\n---\n"+readFile(t, filepath.Join(sh.Dir, "out/providerconfig.yaml"))+"\n---\n"+readFile(t, filepath.Join(sh.Dir, "out/xr.yaml")), nil)
			xr := objs[len(objs)-1]

			if xr.Kind != tc.kind {
				t.Errorf("\n%s\nkind: want %s, got %s", tc.reason, tc.kind, xr.Kind)
			}

			u := cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("Synced", "True"), Condition("AnsibleRunsReady", "True"))

			if got := readFile(t, filepath.Join(dir, "written")); got != tc.want {
				t.Errorf("\n%s\nwant %s, got %s", tc.reason, tc.want, got)
			}

			run := ComposedOf(u)[0]
			cp.Delete(t, xr)
			cp.Delete(t, run)
			cp.WaitGone(t, run)

			if exists(filepath.Join(dir, "written")) {
				t.Errorf("\n%s\nWhat was written should be gone with the XR.", tc.reason)
			}
		})
	}
}
