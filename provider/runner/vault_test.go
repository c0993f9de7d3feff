package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/vaulted"
)

// encrypt a text with ansible-vault under an id, with a password.
func encrypt(t *testing.T, id, password, text string) string {
	t.Helper()

	return vaulted.Text(t, needs.Program(t, "ansible-vault"), id, password, text)
}

func TestRunVault(t *testing.T) {
	t.Parallel()

	one, two := encrypt(t, "default", "first", "s3cret one"), encrypt(t, "prod", "second", "s3cret two")
	file := encrypt(t, "default", "first", "of_file: s3cret three\n")
	tagged := func(ciphertext string) string { return "!vault |\n  " + strings.ReplaceAll(ciphertext, "\n", "\n  ") }

	vars, err := json.Marshal(map[string]any{"of_vars": map[string]any{"deep": []any{map[string]any{"__ansible_vault": two}}}})
	if err != nil {
		t.Fatal(err)
	}

	passwords := []inputs.File{{Name: ".vault-password", Data: []byte("first\n"), Secret: true}, {Name: "prod.pass", Data: []byte("second\n"), Secret: true}}
	ids := map[string]string{"ANSIBLE_VAULT_IDENTITY_LIST": "default@.vault-password, prod@prod.pass"}
	failed := Result{Phase: common.PhaseFailed, Reason: ReasonTaskFailed}

	cases := map[string]struct {
		reason      string
		credentials []inputs.File
		env         map[string]string
		// whole is whether there is a file that is encrypted as a whole.
		whole   bool
		want    Result
		message string
	}{
		"Passwords": {
			reason:      "Values are decrypted wherever they are, and files as a whole, each with the password of its id.",
			credentials: passwords,
			env:         ids,
			whole:       true,
			want:        Result{Phase: common.PhaseSucceeded},
		},
		"Config": {
			reason:      "An ansible.cfg may name the passwords.",
			credentials: append(passwords, inputs.File{Name: "ansible.cfg", Data: []byte("[defaults]\nvault_identity_list = default@.vault-password, prod@prod.pass\n")}),
			want:        Result{Phase: common.PhaseSucceeded},
		},
		"PasswordFile": {
			reason:      "One password may be all that is needed, and its file be named in the environment. It is tried for other ids, too.",
			credentials: passwords,
			env:         map[string]string{"ANSIBLE_VAULT_PASSWORD_FILE": "prod.pass"},
			want:        failed,
			message:     "no vault secrets were found that could decrypt",
		},
		"NoPassword": {
			reason:  "A value that cannot be decrypted fails the task that needs it.",
			want:    failed,
			message: "Attempting to decrypt but no vault secrets found.",
		},
		"NoPasswordForFile": {
			reason:  "A file that cannot be decrypted is named as the user knows it.",
			whole:   true,
			want:    Result{Phase: common.PhaseFailed, Reason: ReasonPlaybookError, Untouched: true},
			message: `no vault secrets found. (encrypted as a whole: Secret "a/b", key "c")`,
		},
		"NoSuchPassword": {
			reason:  "So is a password that is not there.",
			env:     map[string]string{"ANSIBLE_VAULT_PASSWORD_FILE": "nothing"},
			want:    Result{Phase: common.PhaseFailed, Reason: ReasonPlaybookError, Untouched: true},
			message: "The vault password file nothing was not found",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dest := filepath.Join(t.TempDir(), "out")
			run := inline(`
- hosts: all
  gather_facts: false
  connection: local
  tasks:
  - ansible.builtin.copy:
      dest: ` + dest + `
      content: "{{ of_vars.deep[0] }}, {{ of_value }}, {{ of_host }}, {{ of_file }}"
`)
			run.Inputs.Parameters.Vars = raw(string(vars))
			run.Inputs.VarFiles = []inputs.File{
				{Data: []byte("of_file: in clear\nof_value: " + tagged(one) + "\n"), Name: `ConfigMap "a/b", key "c"`},
				{Data: []byte(file), Name: `Secret "a/b", key "c"`, Secret: true},
			}
			run.Inputs.Inventories = []inputs.File{{
				Data: []byte(
					"all: {vars: {ansible_python_interpreter: '{{ ansible_playbook_python }}'}}\nweb:\n  hosts:\n    host:\n      of_host: " +
						strings.ReplaceAll(tagged(one), "\n", "\n      ") + "\n"),
			}}
			run.Inputs.Credentials, run.Inputs.Env = tc.credentials, tc.env

			content := "s3cret two, s3cret one, s3cret one, s3cret three"
			if !tc.whole {
				run.Inputs.VarFiles = run.Inputs.VarFiles[:1]
				content = "s3cret two, s3cret one, s3cret one, in clear"
			}

			got := must(t, newRunner(t), run)
			t.Log(got.Message)

			if diff := cmp.Diff(tc.want, got, ignoreSummary(), cmpopts.IgnoreFields(Result{}, "Message")); diff != "" {
				t.Errorf("%s\nRun(...): -want, +got:\n%s", tc.reason, diff)
			}

			if !strings.Contains(got.Message, tc.message) || strings.Contains(got.Message, "s3cret") {
				t.Errorf("%s\nRun(...): want %q in the message and no secret, got %q", tc.reason, tc.message, got.Message)
			}

			if out, _ := os.ReadFile(dest); tc.want.Phase == common.PhaseSucceeded {
				if diff := cmp.Diff(content, string(out)); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
			}
		})
	}
}
