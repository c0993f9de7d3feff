package galaxy

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// advice says what to do about a reason, given what the configuration has
// already; empty where the reason says all there is to say. The first that fits
// counts.
func advice(reason string, req Request) string {
	for _, a := range []struct {
		pattern string
		todo    func(Request) string
	}{
		{pattern: `^Signature verification failed`, todo: adviseSignature},
		{pattern: `Unable to get access token`, todo: func(Request) string {
			return "check the token and auth_url of the server in the credential ansible.cfg"
		}},
		{pattern: `(?i)(Failed to download collection tar from '\S+://|failed to download the file).*HTTP Error 40[13]`, todo: adviseArchive},
		{pattern: `HTTP (Code:|Error) 40[13]`, todo: adviseGalaxy},
		{pattern: `could not read (Username|Password)|Authentication failed|HTTP Basic: Access denied|The requested URL returned error: 40[13]`, todo: adviseGit},
		{pattern: `certificate verif|unable to get local issuer|self.signed certificate`, todo: adviseCA},
		{pattern: `Host key for .* has changed`, todo: func(Request) string {
			return "when its key was changed on purpose, replace its line in the credential known_hosts"
		}},
		{pattern: `host key is known for|Host key verification failed`, todo: adviseKnownHosts},
		{pattern: `Load key`, todo: func(Request) string {
			return "it must be a private key without a passphrase, as ssh-keygen writes it"
		}},
		{pattern: `Permission denied \(`, todo: adviseKey},
		{pattern: `\[Errno 13\] Permission denied`, todo: func(Request) string {
			return "installations read only what spec.confinement.readPaths allows, beside the system"
		}},
		{pattern: `as JSON`, todo: func(Request) string { return "check that this is the URL of a Galaxy server" }},
		{pattern: `LooseVersion`, todo: func(Request) string { return "give a range without wildcards, such as >=1.0.0,<2.0.0" }},
		{pattern: `is not an HTTP URL`, todo: func(Request) string {
			return "source must be a URL, or a server in server_list of the credential ansible.cfg"
		}},
		{pattern: `Could not satisfy|Failed to resolve the requested dependencies|not found in the list of available versions`, todo: adviseExact},
	} {
		if regexp.MustCompile(a.pattern).MatchString(reason) {
			return a.todo(req)
		}
	}

	return ""
}

func adviseGalaxy(req Request) string {
	if file := strings.TrimPrefix(req.Env["ANSIBLE_GALAXY_TOKEN_PATH"], "./"); req.has(file) {
		return "check the token in the credential " + file
	}

	if cfg, _ := inputs.Find(req.Credentials, ansibleConfig); bytes.Contains(cfg.Data, []byte("[galaxy")) {
		return "check the token, or the username and password, of the server in the credential ansible.cfg"
	}

	return "add an ansible.cfg with the server and its token to spec.credentials"
}

func adviseSignature(req Request) string {
	if req.Verification == nil || req.Verification.Keyring == "" {
		return ""
	}

	return "it must be signed with a key in the credential " + req.Verification.Keyring + ", which has public keys as gpg --export writes them, without --armor"
}

func adviseExact(req Request) string {
	if !req.Repeated {
		return ""
	}

	return "what was resolved before is installed again exactly: if the source has it no longer, require another version of it in spec.requirements"
}

func adviseArchive(req Request) string {
	if req.has(netrc) {
		return "check the login and password for its host in the credential .netrc"
	}

	return "add a .netrc with a line 'machine HOST login USER password PASSWORD' to spec.credentials"
}

func adviseGit(req Request) string {
	if req.has(gitCredentials) {
		return "check that the credential .git-credentials has a line with the right password for this host and port"
	}

	return "add a .git-credentials with a line https://USER:PASSWORD@HOST to spec.credentials"
}

func adviseCA(req Request) string {
	if file := req.Env["SSL_CERT_FILE"] + req.Env["GIT_SSL_CAINFO"]; file != "" {
		return "check that SSL_CERT_FILE in spec.vars names a credential with the certificate of its authority"
	}

	return "add the certificate of its authority to spec.credentials, and its filename to spec.vars as SSL_CERT_FILE"
}

func adviseKnownHosts(req Request) string {
	if req.has(knownHosts) {
		return "add its line, as ssh-keyscan prints it, to the credential known_hosts"
	}

	return "add a known_hosts with its line, as ssh-keyscan prints it, to spec.credentials"
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
	return slices.ContainsFunc(r.Credentials, func(f inputs.File) bool { return f.Name == name })
}
