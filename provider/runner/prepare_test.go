package runner

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// planner is a runner that only makes plans, and needs no tools for it.
func planner() *Runner {
	return &Runner{
		dir: "/runs", self: []string{"/provider", "supervise"}, python: []string{"/bin/python3"}, play: []string{"/bin/ansible-playbook"},
		shipped: "/shipped", name: func() string { return "r1" },
		environ: []string{"PATH=/bin", "HTTPS_PROXY=http://proxy", "HOME=/root", "TOKEN=secret", "AWS_ROLE_ARN=role", "KUBERNETES_SERVICE_HOST=api", "ANSIBLE_ROLES_PATH=/mine", "ANSIBLE_NOCOLOR=0", "LC_ALL=de_DE"},
	}
}

func raw(json string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(json)} }

// roleOn hosts is a play.
func roleOn(role, hosts string) string {
	return `- name: "` + role + "\"\n" + `  hosts: "` + hosts + "\"\n" + "  roles:\n" + `  - role: "` + role + "\"\n"
}

func TestPrepareFiles(t *testing.T) {
	defaults := "all:\n  vars:\n" + asyncDir + pythonOf

	const meta = `!unsafe {"ansible_operator_meta": {"name": "example", "namespace": "default"}, "ansible_provider_meta": {"example": {"state": "present"}, ` +
		`"managed_resource": {"annotations": {"a": "{{ b }}"}, "generation": 3, "labels": {}, "name": "example", ` +
		`"namespace": "default", "state": "present", "uid": "u-1"}, ` +
		`"run": {"attempt": 2, "id": "r1", "mode": "Apply", "trigger": "Changed"}}}` + "\n"

	base := Spec{
		ID: "r1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerChanged, Attempt: 2,
		Object: Object{Name: "example", Namespace: "default", UID: "u-1", Generation: 3, Annotations: map[string]string{"a": "{{ b }}"}},
	}

	cases := map[string]struct {
		reason string
		in     inputs.Inputs
		run    func(*Spec)
		want   map[string]string
	}{
		"Inline": {
			reason: "An inline playbook is the playbook; an empty inventory stands for none.",
			in:     inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: "- hosts: all\n"}},
			want: map[string]string{
				"project/playbook.yml": "- hosts: all\n",
				"inventory/defaults":   defaults,
				"vars/000.yml":         meta,
			},
		},
		"Roles": {
			reason: "Each role has a play of its own.",
			in:     inputs.Inputs{Roles: []common.Role{{Name: "acme.postgres.server"}, {Name: "acme.web", Src: "https://example.org"}}},
			want: map[string]string{
				"project/playbook.yml": roleOn("acme.postgres.server", "localhost") + roleOn("acme.web", "localhost"),
				"inventory/defaults":   defaults,
				"vars/000.yml":         meta,
			},
		},
		"RolesOnHosts": {
			reason: "Roles are for all hosts of an inventory, or for those that are named.",
			in: inputs.Inputs{
				Roles:       []common.Role{{Name: "a.b"}},
				Parameters:  common.AnsibleRunParameters{Hosts: `web:!"x"`},
				Inventories: []inputs.File{{Data: []byte("h1\n")}},
			},
			want: map[string]string{
				"project/playbook.yml": roleOn("a.b", `web:!\"x\"`),
				"inventory/0/hosts":    "h1\n",
				"inventory/defaults":   defaults,
				"vars/000.yml":         meta,
			},
		},
		"ConfiguredInventory": {
			reason: "An inventory that ansible.cfg names is one, too.",
			in: inputs.Inputs{
				Roles:       []common.Role{{Name: "a.b"}},
				Credentials: []inputs.File{{Name: "ansible.cfg", Data: []byte("[defaults]\ninventory = hosts.ini\n")}, {Name: "hosts.ini"}},
			},
			want: map[string]string{
				"project/playbook.yml": roleOn("a.b", "all"),
				"project/ansible.cfg":  "[defaults]\ninventory = hosts.ini\n",
				"project/hosts.ini":    "",
				"vars/000.yml":         meta,
			},
		},
		"Playbooks": {
			reason: "Each playbook is imported.",
			in:     inputs.Inputs{Parameters: common.AnsibleRunParameters{Playbooks: []string{"a.b.c", "a.b.d"}}},
			want: map[string]string{
				"project/playbook.yml": "- import_playbook: \"a.b.c\"\n- import_playbook: \"a.b.d\"\n",
				"inventory/defaults":   defaults,
				"vars/000.yml":         meta,
			},
		},
		"Vars": {
			reason: "Later files win, the provider's own variable is in the last one only, and only unsafe ones are tagged.",
			in: inputs.Inputs{
				VarFiles: []inputs.File{{Data: []byte("a: 1\n")}, {Data: []byte(`{"a": 2}`)}},
				Parameters: common.AnsibleRunParameters{
					PlaybookInline: "[]",
					Vars:           raw(`{"t": "{{ a }}", "n": 123456789012345678901, "ansible_provider_meta": {"x": 1}}`),
					UnsafeVars:     raw(`{"l": ["{{ a }}", {"{{ k }}": true}], "ansible_provider_meta": 1}`),
					StateVariable:  &common.StateVariable{Name: "ensure", Present: "running"},
				},
			},
			want: map[string]string{
				"project/playbook.yml": "[]",
				"inventory/defaults":   defaults,
				"vars/000.yml":         "a: 1\n",
				"vars/001.yml":         `{"a": 2}`,
				"vars/002.yml":         `{"n":123456789012345678901,"t":"{{ a }}"}` + "\n",
				"vars/003.yml":         `!unsafe {"l": ["{{ a }}", {"{{ k }}": true}]}` + "\n",
				"vars/004.yml":         `!unsafe {"ensure": "running"}` + "\n",
				"vars/005.yml":         meta,
			},
		},
		"Approved": {
			reason: "Content that requires approvals is told of no annotation that an approval does not stand for.",
			in:     inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: "[]"}, Approval: true},
			run: func(r *Spec) {
				r.Object.Annotations = map[string]string{"a": "{{ b }}", common.AnnotationCancel: "r0", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
			},
			want: map[string]string{
				"project/playbook.yml": "[]",
				"inventory/defaults":   defaults,
				"vars/000.yml":         meta,
			},
		},
		"Merged": {
			reason: "An object that is called run or managed_resource does not hide what content is told.",
			in:     inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: "[]"}},
			run: func(r *Spec) {
				r.Object = Object{Name: "run"}
				r.State = common.StateAbsent
			},
			want: map[string]string{
				"project/playbook.yml": "[]",
				"inventory/defaults":   defaults,
				"vars/000.yml": `!unsafe {"ansible_operator_meta": {"name": "run", "namespace": ""}, "ansible_provider_meta": {"managed_resource": {"annotations": {}, "generation": 0, "labels": {}, ` +
					`"name": "run", "namespace": "", "state": "absent", "uid": ""}, ` +
					`"run": {"attempt": 2, "id": "r1", "mode": "Apply", "state": "absent", ` +
					`"trigger": "Changed"}}}` + "\n",
			},
		},
		"Inventories": {
			reason: "Inventories are kept apart, in order, and a configuration of a plugin has the plugin's name.",
			in: inputs.Inputs{
				Parameters:  common.AnsibleRunParameters{PlaybookInline: "[]"},
				Inventories: []inputs.File{{Data: []byte("h1\n")}, {Data: []byte("plugin: amazon.aws.aws_ec2\n")}, {Data: []byte("all: {}\n")}},
			},
			want: map[string]string{
				"project/playbook.yml":    "[]",
				"inventory/0/hosts":       "h1\n",
				"inventory/defaults":      defaults,
				"inventory/1/aws_ec2.yml": "plugin: amazon.aws.aws_ec2\n",
				"inventory/2/hosts":       "all: {}\n",
				"vars/000.yml":            meta,
			},
		},
		"ExecutableInventory": {
			reason: "Inventories that are scripts can be executed.",
			in: inputs.Inputs{
				Parameters:  common.AnsibleRunParameters{PlaybookInline: "[]", ExecutableInventory: true},
				Inventories: []inputs.File{{Data: []byte("#!/bin/sh\n")}},
			},
			want: map[string]string{
				"project/playbook.yml": "[]",
				"inventory/0/hosts*":   "#!/bin/sh\n",
				"inventory/defaults":   defaults,
				"vars/000.yml":         meta,
			},
		},
		"Credentials": {
			reason: "Credentials are in the working directory of the play.",
			in: inputs.Inputs{
				Parameters:  common.AnsibleRunParameters{PlaybookInline: "[]"},
				Credentials: []inputs.File{{Name: ".git-credentials", Data: []byte("x")}, {Name: "id_rsa", Data: []byte("y")}},
			},
			want: map[string]string{
				"project/playbook.yml":     "[]",
				"project/.git-credentials": "x",
				"project/id_rsa":           "y",
				"inventory/defaults":       defaults,
				"vars/000.yml":             meta,
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := base
			run.Inputs = tc.in

			if tc.run != nil {
				tc.run(&run)
			}

			plan, err := planner().prepare(run)
			if err != nil {
				t.Fatalf("%s\nprepare(...): %v", tc.reason, err)
			}

			got := map[string]string{}

			for _, f := range plan.Files {
				if strings.Contains(f.Path, "/") && f.Path != "env/settings" {
					// Programs as ls -F lists them.
					if f.Executable {
						f.Path += "*"
					}

					got[f.Path] = string(f.Data)
				}
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nprepare(...): -want files, +got files:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPrepareCommand(t *testing.T) {
	const play = "'/bin/ansible-playbook' "

	cases := map[string]struct {
		reason string
		params common.AnsibleRunParameters
		mode   common.RunMode
		state  common.RunState
		want   string
	}{
		"Plain": {
			reason: "Variables are in files, never in argv.",
			params: common.AnsibleRunParameters{Vars: raw(`{"a": "b"}`)},
			want: play + "'--inventory=/runs/r1/inventory/defaults' '--extra-vars=@/runs/r1/vars/000.yml' " +
				"'--extra-vars=@/runs/r1/vars/001.yml' 'playbook.yml'\n",
		},
		"Options": {
			reason: "Each parameter has its option, and no value can be taken for one.",
			params: common.AnsibleRunParameters{
				Limit: "--it's", Tags: []string{"a", "b"}, SkipTags: []string{"c"}, Forks: ptr.To[int32](7), Verbosity: ptr.To[int32](3),
			},
			mode: common.ModeCheck,
			want: play + "'--inventory=/runs/r1/inventory/defaults' '--extra-vars=@/runs/r1/vars/000.yml' " +
				`'--limit=--it'\''s' '--tags=a,b' '--skip-tags=c' '--forks=7' '-vvv' '--check' '--diff' 'playbook.yml'` + "\n",
		},
		"Quiet": {
			reason: "No verbosity is no option.",
			params: common.AnsibleRunParameters{Verbosity: ptr.To[int32](0)},
			want:   play + "'--inventory=/runs/r1/inventory/defaults' '--extra-vars=@/runs/r1/vars/000.yml' 'playbook.yml'\n",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.params.PlaybookInline = "[]"

			plan, err := planner().prepare(Spec{ID: "r1", Mode: tc.mode, State: tc.state, Inputs: inputs.Inputs{Parameters: tc.params}})
			if err != nil {
				t.Fatalf("%s\nprepare(...): %v", tc.reason, err)
			}

			if diff := cmp.Diff(tc.want, commandLine(plan.Play)); diff != "" {
				t.Errorf("%s\nprepare(...): -want command, +got command:\n%s", tc.reason, diff)
			}

			args := []string{"/runs/r1", "playbook.yml", "run", "2.16", "2.3"}
			if diff := cmp.Diff(args, plan.Args); diff != "" {
				t.Errorf("%s\nprepare(...): -want args, +got args:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPrepareEnv(t *testing.T) {
	base := map[string]string{
		"ANSIBLE_COLLECTIONS_PATH":           "/shipped",
		"ANSIBLE_CONFIG":                     "/runs/r1/ansible.cfg",
		"ANSIBLE_DEPRECATION_WARNINGS":       "False",
		"ANSIBLE_HASH_BEHAVIOUR":             "replace",
		"ANSIBLE_HOST_KEY_CHECKING":          "False",
		"ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
		"ANSIBLE_LOCALHOST_WARNING":          "False",
		"ANSIBLE_LOCAL_TEMP":                 "/runs/r1/tmp",
		"ANSIBLE_NOCOLOR":                    "1",
		"ANSIBLE_REMOTE_TMP":                 "$HOME/.ansible/tmp",
		"ANSIBLE_ROLES_PATH":                 "/runs/r1/home/.ansible/roles",
		"ANSIBLE_SSH_COMMON_ARGS":            `-o UserKnownHostsFile="/dev/null"`,
		"ANSIBLE_SSH_CONTROL_PATH":           "../cp/r1-%%C",
		"ANSIBLE_SSH_CONTROL_PATH_DIR":       "/runs/r1/cp",
		"GIT_TERMINAL_PROMPT":                "0",
		"HOME":                               "/runs/r1/home",
		"HTTPS_PROXY":                        "http://proxy",
		"LANG":                               "C.UTF-8",
		"NO_PROXY":                           "localhost,127.0.0.1",
		"PATH":                               "/bin",
		"PYTHONDONTWRITEBYTECODE":            "1",
		"TMPDIR":                             "/runs/r1/tmp",
		"no_proxy":                           "localhost,127.0.0.1",
	}

	cases := map[string]struct {
		reason  string
		env     map[string]string
		creds   []inputs.File
		content content.Set
		account bool
		place   common.Place
		// want is what differs from the base.
		want map[string]string
	}{
		"Provider": {
			reason: "Of the provider's own environment a run gets what it needs, and no secrets.",
		},
		"Configuration": {
			reason: "The configuration adds variables, and may override defaults.",
			env:    map[string]string{"A": "b", "ANSIBLE_DEPRECATION_WARNINGS": "True", "ANSIBLE_HOST_KEY_CHECKING": "True"},
			want:   map[string]string{"A": "b", "ANSIBLE_DEPRECATION_WARNINGS": "True", "ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_SSH_COMMON_ARGS": ""},
		},
		"Paths": {
			reason:  "Content is looked for in its set first, then where the configuration says, under either name, then where ansible.cfg says.",
			env:     map[string]string{"ANSIBLE_ROLE_PATH": "/r1", "ANSIBLE_ROLES_PATH": "/r2", "ANSIBLE_COLLECTION_PATH": "/c1:/c2"},
			creds:   []inputs.File{{Name: "ansible.cfg", Data: []byte("[defaults]\n# " + strings.Repeat("x", 100_000) + "\nroles_path = mine:/r3\ncollections_path=c3 ; comment\n")}},
			content: content.Set{Dir: "/set"},
			want: map[string]string{
				"ANSIBLE_CONFIG":           "/runs/r1/project/ansible.cfg",
				"ANSIBLE_ROLES_PATH":       "/set/roles:/r1:/r2:/runs/r1/project/mine:/r3",
				"ANSIBLE_COLLECTIONS_PATH": "/shipped:/set/collections:/c1:/c2:/runs/r1/project/c3",
			},
		},
		"ServiceAccount": {
			reason:  "A run that may use the provider's service account finds the API server, and nothing of the provider's identity in a cloud.",
			account: true,
			want:    map[string]string{"KUBERNETES_SERVICE_HOST": "api"},
		},
		"Identity": {
			reason:  "In a Pod with a service account it finds that identity, too.",
			account: true,
			place:   common.PlacePod,
			want: map[string]string{
				"KUBERNETES_SERVICE_HOST": "api", "AWS_ROLE_ARN": "role", "TOKEN": "secret", "ANSIBLE_NOCOLOR": "0",
				"ANSIBLE_ROLES_PATH":       "/mine:/usr/share/ansible/roles:/etc/ansible/roles",
				"ANSIBLE_COLLECTIONS_PATH": "/shipped:/usr/share/ansible/collections:/etc/ansible/collections",
			},
		},
		"Image": {
			reason: "In a Pod a run gets what the image sets, under what the configuration says, and content of the image is looked for last.",
			place:  common.PlacePod,
			env:    map[string]string{"TOKEN": "mine", "ANSIBLE_ROLES_PATH": "/r1"},
			want: map[string]string{
				"TOKEN": "mine", "ANSIBLE_NOCOLOR": "0",
				"ANSIBLE_ROLES_PATH":       "/r1:/mine:/usr/share/ansible/roles:/etc/ansible/roles",
				"ANSIBLE_COLLECTIONS_PATH": "/shipped:/usr/share/ansible/collections:/etc/ansible/collections",
			},
		},
		"KnownHosts": {
			reason: "Known hosts are used, and turn checking on.",
			env:    map[string]string{"ANSIBLE_SSH_COMMON_ARGS": "-J bastion"},
			creds:  []inputs.File{{Name: "known_hosts"}},
			want: map[string]string{
				"ANSIBLE_HOST_KEY_CHECKING": "True",
				"ANSIBLE_SSH_ARGS":          `-C -o ControlMaster=auto -o ControlPersist=60s -o GlobalKnownHostsFile="/runs/r1/project/known_hosts"`,
				"ANSIBLE_SSH_COMMON_ARGS":   `-J bastion -o UserKnownHostsFile="/runs/r1/project/known_hosts"`,
			},
		},
		"AnsibleConfig": {
			reason: "An ansible.cfg can turn checking on, against known hosts that it knows of.",
			creds: []inputs.File{{Name: "ansible.cfg", Data: []byte(
				"# host_key_checking = False\n[ssh_connection]\nhost_key_checking: true\nssh_common_args = -J bastion\n")}},
			want: map[string]string{
				"ANSIBLE_CONFIG":            "/runs/r1/project/ansible.cfg",
				"ANSIBLE_HOST_KEY_CHECKING": "True",
				"ANSIBLE_SSH_COMMON_ARGS":   "-J bastion",
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := planner()

			plan, err := p.prepare(Spec{ID: "r1", Content: tc.content, Inputs: inputs.Inputs{
				Parameters: common.AnsibleRunParameters{PlaybookInline: "[]"}, Env: tc.env, Credentials: tc.creds,
				Grant: inputs.Grant{ServiceAccount: tc.account}, Execution: common.Execution{Place: tc.place},
			}})
			if err != nil {
				t.Fatalf("%s\nprepare(...): %v", tc.reason, err)
			}

			got := map[string]string{}

			for _, e := range plan.Env {
				k, v, _ := strings.Cut(e, "=")
				got[k] = v
			}

			want := map[string]string{}
			for _, m := range []map[string]string{base, tc.want} {
				maps.Copy(want, m)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nprepare(...): -want env, +got env:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPrepareErrors(t *testing.T) {
	env := func(name string) inputs.Inputs {
		return inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: "[]"}, Env: map[string]string{name: "x"}}
	}

	cases := map[string]struct {
		reason string
		in     inputs.Inputs
		err    error
	}{
		"Preload":   {reason: "The dynamic linker is not the configuration's.", in: env("LD_PRELOAD"), err: cmpopts.AnyError},
		"NoContent": {reason: "There must be something to run.", err: cmpopts.AnyError},
		"VarsList": {
			reason: "Variables have names.",
			in:     inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: "[]", Vars: raw(`["a"]`)}},
			err:    cmpopts.AnyError,
		},
		"StateVariable": {
			reason: "The provider's own variable cannot be set under another pretext.",
			in: inputs.Inputs{Parameters: common.AnsibleRunParameters{
				PlaybookInline: "[]", StateVariable: &common.StateVariable{Name: "ansible_provider_meta"},
			}},
			err: cmpopts.AnyError,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := planner().prepare(Spec{ID: "r1", Inputs: tc.in})
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nprepare(...): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}
