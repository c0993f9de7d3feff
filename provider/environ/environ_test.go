package environ

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestImage(t *testing.T) {
	got := List(Image([]string{
		"A=b=c", "LD_LIBRARY_PATH=/opt/lib", "PYTHONPATH=/opt/python", "ANSIBLE_COLLECTIONS_PATH=/collections", "broken",
		"HOME=/root", "TMPDIR=/x", "ANSIBLE_CONFIG=/x", "ANSIBLE_HOME=/x", "RUNNER_OMIT_EVENTS=True", "AWX_ISOLATED_DATA_DIR=/x", "LANG=de_DE", "LC_ALL=de_DE",
		"KUBERNETES_SERVICE_HOST=api", "KUBECONFIG=/x", "AWS_ROLE_ARN=r", "AZURE_CLIENT_ID=a", "GOOGLE_CLOUD_PROJECT=g",
	}))
	want := []string{"A=b=c", "ANSIBLE_COLLECTIONS_PATH=/collections", "LD_LIBRARY_PATH=/opt/lib", "PYTHONPATH=/opt/python"}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Variables of an image should pass, except those that the provider sets: -want, +got:\n%s", diff)
	}
}

func TestIdentity(t *testing.T) {
	got := List(Identity([]string{"AWS_ROLE_ARN=r", "AZURE_CLIENT_ID=a=b", "GOOGLE_APPLICATION_CREDENTIALS=/f", "TOKEN=secret", "MY_AWS_KEY=x"}))
	want := []string{"AWS_ROLE_ARN=r", "AZURE_CLIENT_ID=a=b", "GOOGLE_APPLICATION_CREDENTIALS=/f"}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("The variables of workload identities should pass: -want, +got:\n%s", diff)
	}
}

func TestValidatePlay(t *testing.T) {
	for name, want := range map[string]string{
		"AWS_SECRET_ACCESS_KEY":        "",
		"ANSIBLE_FORKS":                "",
		"ANSIBLE_VAULT_PASSWORD_FILE":  "",
		"K8S_AUTH_KUBECONFIG":          "",
		"PATH":                         "is set by the provider",
		"LD_PRELOAD":                   "is set by the provider",
		"PYTHONPATH":                   "is set by the provider",
		"ANSIBLE_CONFIG":               "is set by the provider",
		"KUBERNETES_SERVICE_HOST":      "is set by the provider",
		"A-B":                          "must be of letters, digits and _, and must not begin with a digit",
		"1A":                           "must be of letters, digits and _, and must not begin with a digit",
		"ANSIBLE_ROLES_PATH":           "says where Ansible finds content or plugins: set it in spec.vars of the configuration",
		"ANSIBLE_COLLECTIONS_PATHS":    "says where Ansible finds content or plugins: set it in spec.vars of the configuration",
		"ANSIBLE_CALLBACK_PLUGINS":     "says where Ansible finds content or plugins: set it in spec.vars of the configuration",
		"ANSIBLE_CACHE_PLUGIN":         "says where Ansible finds content or plugins: set it in spec.vars of the configuration",
		"ANSIBLE_SSH_CONTROL_PATH_DIR": "says where Ansible finds content or plugins: set it in spec.vars of the configuration",
		"ANSIBLE_GALAXY_SERVER":        "is for ansible-galaxy: set it in spec.vars of the configuration",
		"ANSIBLE_HOST_KEY_CHECKING":    "says which hosts are trusted: set it in spec.vars of the configuration",
		// Merged hashes could replace the provider's variables.
		// GIT_SSL_* name credentials, and content may commit.
		"GIT_SSL_CAINFO":  "",
		"GIT_AUTHOR_NAME": "",
		// Commands and configurations of git could run programs in the provider.
		"GIT_SSH_COMMAND": "runs a program in the provider: git uses the credentials id_ed25519, id_ecdsa, id_rsa and known_hosts",
		"GIT_ASKPASS":     "runs a program in the provider: git uses the credential .git-credentials",
		"GIT_CONFIG_KEY_0": "can make git run a program in the provider: of git's variables only GIT_SSL_*, GIT_HTTP_*, " +
			"GIT_AUTHOR_*, GIT_COMMITTER_* and GIT_LFS_* may be set",
		"":    "must be the name of an environment variable",
		"A=B": "must be the name of an environment variable",
	} {
		got := ""
		if err := ValidatePlay(name, "x"); err != nil {
			got = err.Error()
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ValidatePlay(%q, ...): -want, +got:\n%s", name, diff)
		}
	}

	if Validate("A", "\x00") == nil {
		t.Error("A value with NUL should be refused.")
	}
}

// TestCRD checks that names of variables which the API server refuses are refused here, too.
func TestCRD(t *testing.T) {
	text, err := os.ReadFile("../../package-provider/crds/ansible.m.crossplane.io_ansibleruns.yaml")
	needs.OK(t, err)

	folded := regexp.MustCompile(`\s*\n\s+`).ReplaceAllString(string(text), "")
	rules := regexp.MustCompile(`!e\.name\.matches\('+\^((?:\(PATH|ANSIBLE_)[^']*)\$'+\)`).FindAllStringSubmatch(folded, -1)

	if len(rules) != 2 {
		t.Fatalf("want 2 rules, got %q", rules)
	}

	names := 0

	for _, rule := range rules {
		prefix, alternatives, _ := strings.Cut(strings.TrimSuffix(rule[1], ")"), "(")

		for name := range strings.SplitSeq(alternatives, "|") {
			names++

			name = prefix + strings.NewReplacer(".*", "X", "?", "").Replace(name)
			if ValidatePlay(name, "x") == nil {
				t.Errorf("%s is refused by the API server only", name)
			}
		}
	}

	if names < 20 {
		t.Errorf("There are more than %d names", names)
	}
}
