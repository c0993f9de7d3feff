package inputs

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/vault"
)

// maxDecrypted bounds the tries to decrypt values. Each takes about 10 ms.
const maxDecrypted = 500

// Secrets are all data that must never be reported: files from Secrets, values
// of environment variables with the names of secrets, and passwords in URLs.
func (in Inputs) Secrets() [][]byte {
	return in.secrets(func(f File) []byte { return f.Data })
}

// InstallSecrets are the data that must not be reported of an installation. The servers in
// an ansible.cfg are no secrets there, since an error says which of them has failed.
func (in Inputs) InstallSecrets() [][]byte {
	return in.secrets(File.withoutServers)
}

func (in Inputs) secrets(of func(File) []byte) [][]byte {
	var secrets [][]byte

	for _, f := range slices.Concat(in.VarFiles, in.Inventories, in.Credentials) {
		if f.Secret && len(f.Data) > 0 {
			secrets = append(secrets, of(f))
		}
	}

	add := func(name, value string, secret bool) {
		if value != "" && (secret || isSecretName(name)) {
			secrets = append(secrets, []byte(value))
		}

		secrets = append(secrets, urlPasswords(value)...)
	}

	for _, env := range []map[string]string{in.Env, in.InstallEnv} {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			add(name, env[name], false)
		}
	}

	for _, v := range in.PlayEnv {
		add(v.Name, v.Value, v.Secret)
	}

	secrets = append(secrets, urlPasswords(in.Requirements)...)
	if p := in.Parameters.Project; p != nil {
		secrets = append(secrets, urlPasswords(p.Src)...)
	}

	for _, r := range in.Roles {
		secrets = append(secrets, urlPasswords(r.Src)...)
	}

	return secrets
}

// withoutServers is an ansible.cfg without the names and URLs of servers, and any
// other file as it is.
func (f File) withoutServers() []byte {
	if f.Name != AnsibleConfigFile {
		return f.Data
	}

	public := regexp.MustCompile(`(?m)^\s*(?:\[[^\]\n]*\]|(?:url|auth_url|server|server_list)\s*[=:][^@?\n]*)$`)

	return public.ReplaceAll(f.Data, nil)
}

var secretName = regexp.MustCompile(`(?i)(PASSWORD|PASSWD|PASS|PASSPHRASE|PWD|SECRET|TOKEN|KEY|CREDENTIALS?)$`)

// isSecretName is true for names of environment variables whose values are secrets. That
// of GIT_SSL_KEY is the name of a file.
func isSecretName(name string) bool {
	return name != "GIT_SSL_KEY" && secretName.MatchString(name)
}

var urlPassword = regexp.MustCompile(`://([^/\s:@]*)(?::([^/\s@]+))?@`)

// minToken is the length of the shortest user in a URL that is a token, in bytes.
const minToken = 16

// urlPasswords in a text: the password of user:password@host, and a user whose name is so long that it is a token.
// Beside one there may be a password that means nothing, such as x-oauth-basic.
func urlPasswords(text string) [][]byte {
	var found [][]byte

	for _, m := range urlPassword.FindAllStringSubmatch(text, -1) {
		if len(m[1]) >= minToken {
			found = append(found, []byte(m[1]))
		}

		if m[2] != "" {
			found = append(found, []byte(m[2]))
		}
	}

	return found
}

// Vaulted are the values in the inputs that ansible-vault has encrypted, decrypted with the
// credentials. Ansible decrypts them in a run, and may display them.
func (in Inputs) Vaulted() [][]byte {
	passwords := in.vaultPasswords()
	if len(passwords) == 0 {
		return nil
	}

	texts := [][]byte{[]byte(in.Parameters.PlaybookInline)}
	if vars := in.Parameters.Vars; vars != nil {
		texts = append(texts, vars.Raw)
	}

	for _, f := range slices.Concat(in.VarFiles, in.Inventories) {
		texts = append(texts, f.Data)
	}

	var (
		plain [][]byte
		tried int
	)

	for _, text := range texts {
		for _, encrypted := range vault.Find(text) {
			for _, password := range passwords {
				if tried++; tried > maxDecrypted {
					return plain
				}

				if value, err := vault.Decrypt(encrypted, password); err == nil {
					plain = append(plain, value)

					break
				}
			}
		}
	}

	return plain
}

// vaultPasswords are the credentials that the settings of Ansible Vault name.
func (in Inputs) vaultPasswords() []string {
	cfg := in.AnsibleConfig()
	settings := strings.Join([]string{
		in.Env["ANSIBLE_VAULT_PASSWORD_FILE"], in.Env["ANSIBLE_VAULT_IDENTITY_LIST"],
		cfg.Get("defaults", "vault_password_file"), cfg.Get("defaults", "vault_identity_list"),
	}, "\n")

	var passwords []string

	for _, f := range in.Credentials {
		if strings.Contains(settings, f.Name) {
			passwords = append(passwords, strings.TrimSpace(string(f.Data)))
		}
	}

	return passwords
}
