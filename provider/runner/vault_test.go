package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/vaulted"
)

// encrypt returns a text encrypted with ansible-vault, with an id and a password.
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
	needs.OK(t, err)

	passwords := []inputs.File{{Name: ".vault-password", Data: []byte("first\n"), Secret: true}, {Name: "prod.pass", Data: []byte("second\n"), Secret: true}}
	plain := inputs.File{Data: []byte("of_file: in clear\nof_value: " + tagged(one) + "\n"), Name: `ConfigMap "a/b", key "c"`}
	whole := inputs.File{Data: []byte(file), Name: `Secret "a/b", key "c"`, Secret: true}
	with := func(env map[string]string, credentials []inputs.File, varFiles ...inputs.File) func(*inputs.Inputs) {
		return func(in *inputs.Inputs) {
			in.Parameters.Vars = raw(string(vars))
			in.VarFiles, in.Credentials, in.Env = varFiles, credentials, env
			in.Inventories = []inputs.File{{
				Data: []byte(
					"all: {vars: {ansible_python_interpreter: '{{ ansible_playbook_python }}'}}\nweb:\n  hosts:\n    host:\n      of_host: " +
						strings.ReplaceAll(tagged(one), "\n", "\n      ") + "\n"),
			}}
		}
	}
	play := func(ofFile string) string {
		return `
- hosts: all
  gather_facts: false
  connection: local
  tasks:
  - ansible.builtin.assert: {that: "[of_vars.deep[0], of_value, of_host, of_file] == ['s3cret two', 's3cret one', 's3cret one', '` + ofFile + `']"}
`
	}

	try(t, map[string]trial{
		"Passwords": {
			reason:   "Values in all places and whole files are decrypted, each with the password of its id, which an ansible.cfg names.",
			playbook: play("s3cret three"),
			inputs: with(nil, append(passwords, inputs.File{
				Name: "ansible.cfg", Data: []byte("[defaults]\nvault_identity_list = default@.vault-password, prod@prod.pass\n"),
			}), plain, whole),
		},
		"PasswordFile": {
			reason:   "One password is enough, and the environment may name its file. Ansible also tries it for other ids.",
			playbook: play("in clear"), inputs: with(map[string]string{"ANSIBLE_VAULT_PASSWORD_FILE": "prod.pass"}, passwords, plain),
			want: failing(ReasonTaskFailed, ""), says: []string{"no vault secrets were found that could decrypt); the password is in a credential"},
		},
		"NoPasswordForFile": {
			reason:   "The message names a file that cannot be decrypted by the name that the user knows.",
			playbook: play("s3cret three"), inputs: with(nil, nil, plain, whole),
			want: refused(ReasonPlaybookError, ""), says: []string{`no vault secrets found`, `(encrypted as a whole: Secret "a/b", key "c")`, "ANSIBLE_VAULT_PASSWORD_FILE"},
		},
	})
}
