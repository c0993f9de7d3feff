package galaxy

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// An advisor says what to change in a configuration after a failure; empty when the reason of
// the failure is enough.
type advisor func(Request) string

// always returns an advisor that says the same for each request.
func always(text string) advisor { return func(Request) string { return text } }

// ifCredential returns an advisor that says what to check where a request has a credential,
// and what to add where it has none.
func ifCredential(credential, check, add string) advisor {
	return func(req Request) string {
		if req.has(credential) {
			return check
		}

		return add
	}
}

// advisors by the reasons that they know. The first that fits counts.
var advisors = []struct { //nolint:gochecknoglobals // They are never changed.
	reason *regexp.Regexp
	advise advisor
}{
	{regexp.MustCompile(`^Signature verification failed`), adviseSignature},
	{
		regexp.MustCompile(`Unable to get access token`),
		always("check the token and auth_url of the server in the credential ansible.cfg"),
	},
	{
		regexp.MustCompile(
			`(?i)(Failed to download collection tar from '\S+://|failed to download the file).*HTTP Error 40[13]`),
		ifCredential(
			netrc,
			"check the login and password for its host in the credential .netrc",
			"add a .netrc with a line 'machine HOST login USER password PASSWORD' to spec.credentials"),
	},
	{regexp.MustCompile(`HTTP (Code:|Error) 40[13]`), adviseGalaxy},
	{
		regexp.MustCompile(
			`could not read (Username|Password)|Authentication failed|HTTP Basic: Access denied|` +
				`The requested URL returned error: 40[13]`),
		ifCredential(
			gitCredentials,
			"check that the credential .git-credentials has a line with the right password for this host and port",
			"add a .git-credentials with a line https://USER:PASSWORD@HOST to spec.credentials"),
	},
	{
		regexp.MustCompile(
			`certificate verif|server verification failed|unable to get local issuer|self.signed certificate`),
		adviseCA,
	},
	{
		regexp.MustCompile(`Host key for .* has changed`),
		always("when its key was changed on purpose, replace its line in the credential known_hosts"),
	},
	{
		regexp.MustCompile(`host key is known for|Host key verification failed`),
		ifCredential(
			inputs.KnownHostsFile,
			"add its line, as ssh-keyscan prints it, to the credential known_hosts",
			"add a known_hosts with its line, as ssh-keyscan prints it, to spec.credentials"),
	},
	{regexp.MustCompile(`Load key`), always("it must be a private key without a passphrase, as ssh-keygen writes it")},
	{regexp.MustCompile(`Permission denied \(`), adviseKey},
	{
		regexp.MustCompile(`\[Errno 13\] Permission denied|'/.*' does not appear to be a git repository`),
		always("installations read only what spec.confinement.readPaths, or the flag --read-path, allows, beside the system"),
	},
	{regexp.MustCompile(`as JSON`), always("check that this is the URL of a Galaxy server")},
	{regexp.MustCompile(`LooseVersion`), always("give a range without wildcards, such as >=1.0.0,<2.0.0")},
	{
		regexp.MustCompile(`is not an HTTP URL`),
		always("source must be a URL, or a server in server_list of the credential ansible.cfg"),
	},
	{
		regexp.MustCompile(
			`Could not satisfy|Failed to resolve the requested dependencies|not found in the list of available versions`),
		adviseRepeated,
	},
}

// advice says what to do about the reason of a failure, by what the configuration has.
func advice(reason string, req Request) string {
	for _, a := range advisors {
		if a.reason.MatchString(reason) {
			return a.advise(req)
		}
	}

	return ""
}

func adviseGalaxy(req Request) string {
	if file := strings.TrimPrefix(req.Env["ANSIBLE_GALAXY_TOKEN_PATH"], "./"); req.has(file) {
		return "check the token in the credential " + file
	}

	if cfg, _ := inputs.Find(req.Credentials, inputs.AnsibleConfigFile); bytes.Contains(cfg.Data, []byte("[galaxy")) {
		return "check the token, or the username and password, of the server in the credential ansible.cfg"
	}

	return "add an ansible.cfg with the server and its token to spec.credentials"
}

func adviseSignature(req Request) string {
	if req.Verification == nil || req.Verification.Keyring == "" {
		return ""
	}

	return "it must be signed with a key in the credential " + req.Verification.Keyring +
		", which has public keys as gpg --export writes them, without --armor"
}

func adviseRepeated(req Request) string {
	if !req.Repeated {
		return ""
	}

	return "what was resolved before is installed again exactly: if the source has it no longer, require another " +
		"version of it in spec.requirements"
}

func adviseCA(req Request) string {
	if req.Env["SSL_CERT_FILE"]+req.Env["GIT_SSL_CAINFO"] != "" {
		return "check that SSL_CERT_FILE in spec.vars names a credential with the certificate of its authority"
	}

	return "add the certificate of its authority to spec.credentials, and its filename to spec.vars as SSL_CERT_FILE"
}

func adviseKey(req Request) string {
	var keys []string

	for _, f := range req.Credentials {
		if slices.Contains(sshKeys(req.Env, req.Credentials), f.Name) {
			keys = append(keys, f.Name)
		}
	}

	if len(keys) > 0 {
		return "check that the host lets the key in the credential " + strings.Join(keys, " or ") + " read this repository"
	}

	return "add a private key, such as id_ed25519, to spec.credentials"
}

func (r Request) has(name string) bool {
	_, ok := inputs.Find(r.Credentials, name)

	return ok
}
