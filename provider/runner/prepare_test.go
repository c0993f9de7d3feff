package runner

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// planner returns a runner that can only make plans, for which it needs no tools.
func planner() *Runner {
	return &Runner{
		dir: "/runs", python: []string{"/bin/python3"}, play: []string{"/bin/ansible-playbook"},
		Options: Options{Shipped: "/shipped"}, name: func() string { return "r1" },
		environ: []string{"PATH=/bin", "HTTPS_PROXY=http://proxy", "HOME=/root", "TOKEN=secret", "AWS_ROLE_ARN=role", "KUBERNETES_SERVICE_HOST=api", "ANSIBLE_ROLES_PATH=/mine", "ANSIBLE_NOCOLOR=0", "LC_ALL=de_DE"},
	}
}

func raw(json string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(json)} }

// commandLineOf returns the command line of the play of a plan.
func commandLineOf(p plan) string { return strings.Join(p.Args[4:], " ") }

// TestMeta tests the provider's variable.
func TestMeta(t *testing.T) {
	const told = `!unsafe {? "ansible_operator_meta" : {? "name" : "example", ? "namespace" : "default"}, ? "ansible_provider_meta" : {? "example" : {? "state" : "present"}, ` +
		`? "managed_resource" : {? "annotations" : {? "a" : "{{ b }}"}, ? "generation" : 3, ? "labels" : {}, ? "name" : "example", ` +
		`? "namespace" : "default", ? "state" : "present", ? "uid" : "u-1"}, ` +
		`? "run" : {? "attempt" : 2, ? "id" : "r1", ? "mode" : "Apply", ? "trigger" : "Changed"}}}` + "\n"

	base := Spec{
		ID: "r1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerChanged, Attempt: 2,
		Object: Object{Name: "example", Namespace: "default", UID: "u-1", Generation: 3, Annotations: map[string]string{"a": "{{ b }}"}},
	}

	approved := base
	approved.Inputs.Approval = true
	approved.Object.Annotations = map[string]string{"a": "{{ b }}", common.AnnotationCancel: "r0", "kubectl.kubernetes.io/last-applied-configuration": "{}"}

	merged := base
	merged.Object, merged.State = Object{Name: "run"}, common.StateAbsent

	for name, tc := range map[string]struct {
		reason string
		run    Spec
		want   string
	}{
		"Plain":    {"Annotations are not templated.", base, told},
		"Approved": {"Content that requires approvals receives only annotations that an approval covers.", approved, told},
		"Merged": {
			"The state is merged into the keys run and managed_resource for an object of that name.", merged,
			`!unsafe {? "ansible_operator_meta" : {? "name" : "run", ? "namespace" : ""}, ? "ansible_provider_meta" : {? "managed_resource" : {? "annotations" : {}, ? "generation" : 0, ? "labels" : {}, ` +
				`? "name" : "run", ? "namespace" : "", ? "state" : "absent", ? "uid" : ""}, ? "run" : {? "attempt" : 2, ? "id" : "r1", ? "mode" : "Apply", ? "state" : "absent", ? "trigger" : "Changed"}}}` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := varFiles(tc.run)
			if len(files) != 1 {
				t.Fatalf("%s\nvarFiles(...): %v", tc.reason, files)
			}

			if diff := cmp.Diff(tc.want, string(files[0].Data)); diff != "" {
				t.Errorf("%s\nvarFiles(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAttackArguments has values that look like options. None is taken for an option, and variables are in files.
func TestAttackArguments(t *testing.T) {
	plan, err := planner().prepare(Spec{ID: "r1", Mode: common.ModeCheck, Inputs: inputs.Inputs{Parameters: common.AnsibleRunParameters{
		PlaybookInline: "[]", Limit: "--it's", Tags: []string{"a", "b"}, SkipTags: []string{"c"}, Forks: ptr.To[int32](7), Verbosity: ptr.To[int32](3),
	}}})
	needs.OK(t, err)

	want := []string{
		"/bin/ansible-playbook", "--inventory=/runs/r1/inventory/defaults", "--extra-vars=@/runs/r1/vars/000.yml",
		"--limit=--it's", "--tags=a,b", "--skip-tags=c", "--forks=7", "-vvv", "--check", "--diff", "playbook.yml",
	}
	if diff := cmp.Diff(want, plan.Args[4:]); diff != "" {
		t.Errorf("prepare(...): -want command, +got:\n%s", diff)
	}
}

func TestPrepareEnv(t *testing.T) {
	base := map[string]string{
		"ANSIBLE_COLLECTIONS_PATH":           "/shipped",
		"ANSIBLE_CONFIG":                     "/runs/r1/ansible.cfg",
		"ANSIBLE_DEPRECATION_WARNINGS":       "False",
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

	for name, tc := range map[string]struct {
		reason  string
		env     map[string]string
		creds   []inputs.File
		content content.Set
		account bool
		place   common.Place
		// want is the difference to the base.
		want map[string]string
	}{
		"Provider": {
			reason: "A run gets the variables of the provider's environment that it needs, and no secrets.",
		},
		"Configuration": {
			reason: "The ProviderConfig adds variables, and may override defaults.",
			env:    map[string]string{"A": "b", "ANSIBLE_DEPRECATION_WARNINGS": "True", "ANSIBLE_HOST_KEY_CHECKING": "True"},
			want:   map[string]string{"A": "b", "ANSIBLE_DEPRECATION_WARNINGS": "True", "ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_SSH_COMMON_ARGS": ""},
		},
		"Paths": {
			reason:  "The content set is searched first, then the paths of the ProviderConfig, under either name, then those of the ansible.cfg.",
			env:     map[string]string{"ANSIBLE_ROLE_PATH": "/r1", "ANSIBLE_ROLES_PATH": "/r2", "ANSIBLE_COLLECTION_PATH": "/c1:/c2"},
			creds:   []inputs.File{{Name: "ansible.cfg", Data: []byte("[defaults]\n# " + strings.Repeat("x", 100_000) + "\nroles_path = mine:/r3\ncollections_path=c3 ; comment\n")}},
			content: content.Set{Dir: "/set"},
			want: map[string]string{
				"ANSIBLE_CONFIG":           "/runs/r1/project/ansible.cfg",
				"ANSIBLE_ROLES_PATH":       "/set/roles:/r1:/r2:/runs/r1/project/mine:/r3",
				"ANSIBLE_COLLECTIONS_PATH": "/shipped:/set/collections:/c1:/c2:/runs/r1/project/c3",
			},
		},
		"NoProxy": {
			reason: "This machine is exempt from proxies, and each variable keeps its hosts.",
			env:    map[string]string{"NO_PROXY": "example.org", "no_proxy": "example.com"},
			want:   map[string]string{"NO_PROXY": "example.org,localhost,127.0.0.1", "no_proxy": "example.com,localhost,127.0.0.1"},
		},
		"NoProxyOnce": {
			reason: "The other variable gets the same hosts, for programs that read only one of the two.",
			env:    map[string]string{"NO_PROXY": "example.org"},
			want:   map[string]string{"NO_PROXY": "example.org,localhost,127.0.0.1", "no_proxy": "example.org,localhost,127.0.0.1"},
		},
		"NoProxyAll": {
			reason: "Python and curl take an asterisk in a longer list for a name, so that it stays alone.",
			env:    map[string]string{"no_proxy": "*"},
			want:   map[string]string{"NO_PROXY": "*", "no_proxy": "*"},
		},
		"ServiceAccount": {
			reason:  "A run with the provider's service account finds the API server, and does not get the provider's cloud identity.",
			account: true,
			want:    map[string]string{"KUBERNETES_SERVICE_HOST": "api"},
		},
		"Identity": {
			reason:  "A run in a Pod with a service account gets the cloud identity as well.",
			account: true,
			place:   common.PlacePod,
			want: map[string]string{
				"KUBERNETES_SERVICE_HOST": "api", "AWS_ROLE_ARN": "role", "TOKEN": "secret", "ANSIBLE_NOCOLOR": "0",
				"ANSIBLE_ROLES_PATH":       "/mine:/usr/share/ansible/roles:/etc/ansible/roles",
				"ANSIBLE_COLLECTIONS_PATH": "/shipped:/usr/share/ansible/collections:/etc/ansible/collections",
			},
		},
		"Image": {
			reason: "A run in a Pod gets the variables of the image, which the ProviderConfig overrides. The content of the image is searched last.",
			place:  common.PlacePod,
			env:    map[string]string{"TOKEN": "mine", "ANSIBLE_ROLES_PATH": "/r1"},
			want: map[string]string{
				"TOKEN": "mine", "ANSIBLE_NOCOLOR": "0",
				"ANSIBLE_ROLES_PATH":       "/r1:/mine:/usr/share/ansible/roles:/etc/ansible/roles",
				"ANSIBLE_COLLECTIONS_PATH": "/shipped:/usr/share/ansible/collections:/etc/ansible/collections",
			},
		},
		"KnownHosts": {
			reason: "A known_hosts file is used, and turns checking on.",
			env:    map[string]string{"ANSIBLE_SSH_COMMON_ARGS": "-J bastion"},
			creds:  []inputs.File{{Name: "known_hosts"}},
			want: map[string]string{
				"ANSIBLE_HOST_KEY_CHECKING": "True",
				"ANSIBLE_SSH_ARGS":          `-C -o ControlMaster=auto -o ControlPersist=60s -o GlobalKnownHostsFile="/runs/r1/project/known_hosts"`,
				"ANSIBLE_SSH_COMMON_ARGS":   `-J bastion -o UserKnownHostsFile="/runs/r1/project/known_hosts"`,
			},
		},
		"AnsibleConfig": {
			reason: "An ansible.cfg can turn checking on, with known hosts that it configures.",
			creds: []inputs.File{{Name: "ansible.cfg", Data: []byte(
				"# host_key_checking = False\n[ssh_connection]\nhost_key_checking: true\nssh_common_args = -J bastion\n")}},
			want: map[string]string{
				"ANSIBLE_CONFIG":            "/runs/r1/project/ansible.cfg",
				"ANSIBLE_HOST_KEY_CHECKING": "True",
				"ANSIBLE_SSH_COMMON_ARGS":   "-J bastion",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := planner()

			plan, err := p.prepare(Spec{ID: "r1", Content: tc.content, Inputs: inputs.Inputs{
				Parameters: common.AnsibleRunParameters{PlaybookInline: "[]"}, Env: tc.env, Credentials: tc.creds,
				Grant: sandbox.Grant{ServiceAccount: tc.account}, Execution: common.Execution{Place: tc.place},
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
