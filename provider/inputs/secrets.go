package inputs

import (
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// Secrets returns the secrets of a run: the values of variable files and other files from Secrets, environment
// variables from Secrets or with names of secrets, and passwords in URLs. Values that the spec shows are not secrets.
func (in Inputs) Secrets() *redact.Set {
	var all []redact.Secret

	for _, f := range slices.Concat(in.VarFiles, in.Inventories) {
		if f.Secret {
			all = append(all, redact.InVariables(f.text(), f.From)...)
		}
	}

	// An inventory may have another format than YAML.
	for _, f := range in.Inventories {
		if f.Secret {
			all = append(all, redact.InFile(f.text(), f.From)...)
		}
	}

	for _, v := range in.PlayEnv {
		if v.Secret {
			all = append(all, redact.InFile(v.text(), v.From)...)
		}
	}

	all = append(all, in.ofInstallation(File.text)...)
	all = append(all, inEnv(in.ForPlay())...)

	var shown []string

	for _, vars := range []*runtime.RawExtension{in.Parameters.Vars, in.Parameters.UnsafeVars} {
		if vars != nil {
			shown = append(shown, redact.Scalars(vars.Raw)...)
		}
	}

	return redact.New(all, shown...)
}

// InstallSecrets returns the secrets of an installation. Servers in an ansible.cfg are not among them, so that an error
// can name the server that failed.
func (in Inputs) InstallSecrets() *redact.Set {
	return redact.New(in.ofInstallation(File.withoutServers))
}

func (in Inputs) ofInstallation(text func(File) string) []redact.Secret {
	all := inEnv(in.Env)

	for _, f := range in.Credentials {
		// The keys of hosts are public.
		if f.Secret && f.Name != KnownHostsFile {
			all = append(all, redact.InFile(text(f), f.From)...)
		}
	}

	urls := []string{in.Requirements}
	if p := in.Parameters.Project; p != nil {
		urls = append(urls, p.Src)
	}

	for _, r := range in.RequiredRoles() {
		urls = append(urls, r.Src)
	}

	for _, text := range urls {
		all = append(all, redact.InURLs(text, redact.Source{})...)
	}

	return all
}

// inEnv returns the secrets of an environment.
func inEnv(env map[string]string) []redact.Secret {
	var all []redact.Secret

	for _, name := range slices.Sorted(maps.Keys(env)) {
		from := redact.Source{Key: name}
		if all = append(all, redact.InURLs(env[name], from)...); redact.IsName(name) {
			all = append(all, redact.InFile(env[name], from)...)
		}
	}

	return all
}

func (f File) text() string { return string(f.Data) }

// withoutServers returns the text of an ansible.cfg without the names and URLs of servers, and of other files
// unchanged.
func (f File) withoutServers() string {
	if f.Name != AnsibleConfigFile {
		return f.text()
	}

	public := regexp.MustCompile(`(?m)^\s*(?:\[[^\]\n]*\]|(?:url|auth_url|server|server_list)\s*[=:][^@?\n]*)$`)

	return public.ReplaceAllString(f.text(), "")
}
