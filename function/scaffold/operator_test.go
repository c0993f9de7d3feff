package scaffold

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const operatorProject = "testdata/cache-operator"

func TestWriteOperator(t *testing.T) {
	documents, err := WriteOperator(operatorProject, nil, "https://git.example.org/acme/cache-operator.git,1.0.0")
	needs.OK(t, err)

	isGolden(t, "cache-operator", documents)

	for _, d := range documents {
		if path.Base(d.Name) == "xrd.yaml" {
			served(t, d.Content, nil)
		}
	}
}

// TestMovePage scaffolds what the page about moving an operator shows.
func TestMovePage(t *testing.T) {
	var yaml []string
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(needs.Read(t, "../../docs/move-operator.md"), -1) {
		yaml = append(yaml, m[1])
	}

	if len(yaml) != 3 {
		t.Fatalf("the page has %d blocks of YAML, this test knows 3", len(yaml))
	}

	// The project of the tests has more files than that of the page.
	const caches = "config/crd/bases/cache.example.org_caches.yaml"

	crd := strings.Replace(needs.Read(t, operatorProject+"/"+caches), "environment:", "owner:", 1)
	dir := changed(t, map[string]string{"watches.yaml": yaml[0], "galaxy.yml": yaml[1], caches: crd, "roles/cache/tasks/main.yml": "- ansible.builtin.debug: {var: ansible_operator_meta.name}\n"})

	documents, err := WriteOperator(dir, nil, "https://git.example.org/acme/cache-operator.git,1.0.0")
	needs.OK(t, err)

	got := textsOf(documents)
	if !strings.Contains(got, yaml[2]) {
		t.Errorf("the Composition should have what the page shows: want\n%s\ngot\n%s", yaml[2], got)
	}
}

// changed returns a copy of the project with other texts of files. A file with an empty text is removed.
func changed(t *testing.T, files map[string]string) string {
	t.Helper()

	dir := t.TempDir()
	needs.OK(t, os.CopyFS(dir, os.DirFS(operatorProject)))

	return written(t, dir, files)
}

// written returns the texts of the files below a directory.
func written(t *testing.T, dir string, files map[string]string) string {
	t.Helper()

	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))

		err := os.RemoveAll(file)
		if text != "" {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600))
		}

		needs.OK(t, err)
	}

	return dir
}

// entry returns an entry of watches.yaml for the kind Cache, with further lines.
func entry(lines ...string) string {
	return "- group: cache.example.org\n  version: v1alpha1\n  kind: Cache\n  " + strings.Join(lines, "\n  ") + "\n"
}

func TestOperatorErrors(t *testing.T) {
	const caches = "config/crd/bases/cache.example.org_caches.yaml"

	crd := func(old, with string) string {
		s := needs.Read(t, operatorProject+"/"+caches)
		if !strings.Contains(s, old) {
			t.Fatalf("the definition has no %q", old)
		}

		return strings.Replace(s, old, with, 1)
	}

	type files = map[string]string

	watched := func(lines ...string) files { return files{"watches.yaml": entry(lines...)} }

	cases := map[string]struct {
		files files
		want  string
	}{
		"NoWatches":              {files{"watches.yaml": ""}, "cannot read the watches of the operator"},
		"NoList":                 {files{"watches.yaml": "kind: Cache\n"}, "cannot read watches.yaml: cannot read object as list"},
		"NoMapping":              {watched("role: cache", "vars: 3"), "cannot read watches.yaml: cannot read number as the field vars, of type mapping"},
		"NoEntries":              {files{"watches.yaml": "---\n"}, "watches.yaml has no entries"},
		"UnknownOption":          {watched("role: cache", "reconcilePeriode: 1m"), `cannot read watches.yaml: unknown field "reconcilePeriode"`},
		"UnknownFinalizerOption": {watched("role: cache", "finalizer: {name: a/b, variables: {}}"), `cannot read watches.yaml: unknown field "variables"`},
		"Environment":            {watched("role: ${SCAFFOLD_TEST_ROLE}"), "watches.yaml refers to the operator's environment: set SCAFFOLD_TEST_ROLE for this command"},
		"NoContent":              {watched("vars: {a: b}"), "one of role and playbook must be set"},
		"Period":                 {watched("role: cache", "reconcilePeriod: soon"), `time: invalid duration "soon"`},
		"TwoForOneKind":          {files{"watches.yaml": entry("role: cache") + strings.Replace(entry("role: purge"), "v1alpha1", "v2", 1)}, "entry 2 of watches.yaml, Cache is the second one for its kind: the XRs of a kind have one Composition"},
		"NoDefinitions":          {files{"config/crd": ""}, "entry 1 of watches.yaml, Cache: no file in config/crd/bases or deploy/crds defines the kind"},
		"OldDefinition":          {files{caches: crd("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")}, "cache.example.org_caches.yaml: a CustomResourceDefinition of apiextensions.k8s.io/v1beta1, which Kubernetes has not served since v1.22: write it for apiextensions.k8s.io/v1"},
		"StoredOnly":             {files{caches: crd("served: true", "served: false")}, "cache.example.org_caches.yaml: caches.cache.example.org does not serve the version that it stores, v1alpha1: of an XRD one version is both"},
		"CrossplanesField":       {files{caches: crd("environment:", "crossplane:")}, "caches.cache.example.org, version v1alpha1: the field spec.crossplane: of an XR that is Crossplane's own"},
		"OtherField":             {files{caches: crd("          metadata:", "          data:")}, `caches.cache.example.org, version v1alpha1: the field "data": XRs have no fields beside spec and status`},
		"NoRole":                 {watched("role: other"), "cannot find the role other in the directory roles of the project"},
		"OutsideRole":            {watched("role: ../shared/cache"), "../shared/cache is outside of the project, which is /opt/ansible in the operator's image"},
		"AbsoluteRole":           {watched("role: /usr/share/ansible/roles/cache"), "/usr/share/ansible/roles/cache is outside of the project, which is /opt/ansible in the operator's image"},
		"RoleName":               {files{"watches.yaml": entry("role: my-cache"), "roles/my-cache/tasks/main.yml": "[]"}, "roles/my-cache: in a collection a name has letters, digits and underscores only; rename my-cache"},
		"RootPlaybook":           {files{"watches.yaml": entry("playbook: site.yml"), "site.yml": "[]"}, "the playbook site.yml is not in the directory playbooks of the project, where those of a collection are: move it there"},
		"NoPlaybook":             {watched("playbook: /opt/ansible/playbooks/other.yml"), "cannot find the playbook playbooks/other.yml"},
		"NoGalaxy":               {files{"galaxy.yml": ""}, "the project has no galaxy.yml: with one its roles and playbooks are a collection, which ansible-galaxy installs from git. " + `Write "namespace: acme", "name: cache", "version: 1.0.0", "readme: README.md" and "authors: [Acme]" into it`},
		"WrongGalaxy":            {files{"galaxy.yml": "namespace: acme\nname: cache-operator\n"}, "galaxy.yml must have a namespace and a name of letters, digits and underscores"},
		"FinalizerVariable":      {watched("role: cache", "finalizer: {name: a/b, vars: {size: 0}}"), "the variable size of the finalizer is that of the field spec.size, too, and the value of the field would win: call that of the finalizer otherwise"},
		"Selector":               {watched("role: cache", "selector: {matchExpressions: [{key: a, operator: Near}]}"), `cannot read the selector: "Near" is not a valid label selector operator`},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := WriteOperator(changed(t, tc.files), nil, ""); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}

// Different forms of a project have the same documents.
func TestOperatorForms(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		source string
		want   []string
	}{
		"Environment": {
			reason: "The watches may refer to environment variables, and names may be in any case.",
			files:  map[string]string{"watches.yaml": entry("role: $SCAFFOLD_TEST_ROLE", "reconcileperiod: 90s", `vars: {pattern: "a$1 ${SCAFFOLD_TEST_ROLE} {{ b }}"}`)},
			want:   []string{"role: acme.cache.purge", "orValue('1m30s')", "pattern: a$${1} purge {{ b }}\n"},
		},
		"InImage": {
			reason: "Paths in the image of the operator are paths of the project.",
			files:  map[string]string{"watches.yaml": entry("playbook: /opt/ansible/playbooks/region.yml", "reconcilePeriod: 0s")},
			want:   []string{"playbook: acme.cache.region", "orValue('10h')", "policy: Keep"},
		},
		"Elsewhere": {
			reason: "References to the container of the operator get comments.",
			files: map[string]string{
				"watches.yaml":                entry("role: cache"),
				"roles/cache/tasks/sdk.yml":   "- ansible.builtin.include_tasks: /opt/ansible/roles/purge/tasks/main.yml\n",
				"roles/cache/tasks/touch.yml": "- ansible.builtin.file: {path: /tmp/filled, state: touch}\n",
			},
			want: []string{
				"# roles/cache/tasks/sdk.yml refers to /opt/ansible, which is not there",
				"# roles/cache/tasks/touch.yml refers to /tmp, which content cannot write", "writePaths: [/tmp]", "--write-path=/tmp",
			},
		},
		"Secrets": {
			reason: "A watch of Secrets needs a label. Its configuration has the name of the project, since other projects may watch Secrets, too.",
			files:  map[string]string{"watches.yaml": entry("role: cache") + "- {version: v1, group: \"\", kind: Secret, role: purge}\n"},
			want: []string{
				"kind: WatchOperation\nmetadata:\n  name: acme-cache-secrets\n",
				"have this label: give it to the objects that are meant.\n    matchLabels:\n      ansible.fn.crossplane.io/watched-by: acme-cache\n",
				"kind: ClusterProviderConfig\n              name: acme-cache-secrets\n",
				"kind: ClusterProviderConfig\nmetadata:\n  name: acme-cache-secrets\n",
			},
		},
		"Expressions": {
			reason: "Without matchLabels, a WatchOperation needs a label, since it would watch all objects.",
			files: map[string]string{"watches.yaml": entry("role: cache") +
				"- {version: v1, group: apps, kind: Deployment, role: purge, selector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}\n"},
			want: []string{"    matchLabels:\n      ansible.fn.crossplane.io/watched-by: acme-cache\n", "  name: acme-cache-deployments.apps\n"},
		},
		"Plural": {
			reason: "A kind of Kubernetes needs no XRD, and has the plural name of Kubernetes.",
			files:  map[string]string{"config/crd": "", "watches.yaml": "- {version: v1, group: networking.k8s.io, kind: NetworkPolicy, role: purge}\n"},
			want:   []string{"  name: acme-cache-networkpolicies.networking.k8s.io\n"},
		},
		"Temporary": {
			reason: "Another directory with the name tmp is not /tmp.",
			files: map[string]string{
				"watches.yaml":                entry("role: cache"),
				"roles/cache/tasks/touch.yml": "- ansible.builtin.file: {path: /var/tmp/filled, state: touch}\n",
			},
			want: []string{"      - name: cache\n        providerConfigRef:\n          kind: ClusterProviderConfig\n          name: caches.cache.example.org\n        role: acme.cache.cache\n"},
		},
		"Galaxy": {
			reason: "Without a source, the project is on a Galaxy server.",
			files:  map[string]string{"watches.yaml": entry("role: cache"), "requirements.yml": "- src: acme.tuned\n"},
			want:   []string{"    collections:\n    - name: acme.cache\n    roles:\n    - src: acme.tuned\n"},
		},
		"Branch": {
			reason: "A source without a version is the default branch.",
			files:  map[string]string{"watches.yaml": entry("role: cache"), "requirements.yml": ""},
			source: "https://git.example.org/cache.git",
			want:   []string{"    collections:\n    - name: https://git.example.org/cache.git\n      type: git\n"},
		},
		"RequiredRole": {
			reason: "A role from the requirements needs no collection.",
			files:  map[string]string{"watches.yaml": entry("role: acme.tuned"), "requirements.yml": "roles: [{name: acme.tuned}]\n", "galaxy.yml": ""},
			want:   []string{"role: acme.tuned", "  requirements: |\n    roles:\n    - name: acme.tuned\n"},
		},
		"FinalizerOfAnotherVariable": {
			reason: "A variable without a value while the object exists is set only for the deletion.",
			files:  map[string]string{"watches.yaml": entry("role: cache", "finalizer: {name: a/b, vars: {cleanup: \"yes\"}}")},
			want: []string{
				"        role: acme.cache.cache\n",
				"onDelete:\n          playbookInline: |\n            - hosts: localhost\n              tasks:\n              - ansible.builtin.include_role:\n                  name: acme.cache.cache\n                vars:\n                  cleanup: \"yes\"\n",
			},
		},
		"FinalizerOfField": {
			reason: "The state variable wins over a field of the spec with the same meaning.",
			files: map[string]string{
				"watches.yaml": entry("role: purge", "finalizer: {name: a/b, vars: {region: absent}}"),
				"config/crd/bases/cache.example.org_caches.yaml": strings.Replace(needs.Read(t, operatorProject+"/config/crd/bases/cache.example.org_caches.yaml"), "environment:", "region:", 1),
			},
			want: []string{"stateVariable:\n          name: region\n          present: present\n          absent: absent\n"},
		},
	}

	t.Setenv("SCAFFOLD_TEST_ROLE", "purge")

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			documents, err := WriteOperator(changed(t, tc.files), nil, tc.source)
			if err != nil {
				t.Fatalf("\n%s\nWriteOperator(...): %v", tc.reason, err)
			}

			got := textsOf(documents)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("\n%s\nwant %q in:\n%s", tc.reason, want, got)
				}
			}
		})
	}
}
