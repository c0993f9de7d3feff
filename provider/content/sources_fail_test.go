package content

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// TestSourcesFail has what goes wrong with a server of each kind, and what users
// read then.
func TestSourcesFail(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	hub := "[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = $HUB/\n"

	const (
		cloned    = "collections: Failed to clone a Git repository from "
		motd      = "roles: motd was NOT installed successfully: "
		token     = "; check the token of the server in the credential ansible.cfg"
		netrc     = "; the credential .netrc must have a line 'machine HOST login USER password PASSWORD' for its host"
		login     = "; the credential .git-credentials must have a line https://USER:PASSWORD@HOST for this host and port"
		authority = "; SSL_CERT_FILE in spec.vars must name a credential with the certificate of its authority"
		known     = "; the credential known_hosts must have its line, as ssh-keyscan prints it"
		key       = "; a private key that the host lets read this repository must be among spec.credentials, such as id_ed25519"
	)

	newWorld(t).check(t, map[string]sourceCase{
		"WrongToken": {
			reason: "Where a token goes is said.", requirements: "collections: [acme.web]",
			credentials: map[string]string{"ansible.cfg": hub + "token = nonsense\n"},
			err:         "collections: Error when finding available api versions from hub ($HUB/) (HTTP Code: 401, Message: Unauthorized)" + token,
		},
		"WrongRefreshToken": {
			reason: "So it is for the login of a hub.", requirements: "collections: [acme.web]",
			credentials: map[string]string{"ansible.cfg": hub + "auth_url = $LOGIN/token\ntoken = nonsense\n"},
			err:         "collections: Unable to get access token (HTTP Code: 400, Message: Bad Request)" + token,
		},
		"UnknownCA": {
			reason: "A private authority is to be given.", requirements: "collections: [acme.web]",
			credentials: map[string]string{"ansible.cfg": cfgToken, "ca.crt": ""},
			err:         "collections: Unknown error when attempting to call Galaxy at '$HUB/api': certificate verify failed: unable to get local issuer certificate" + authority,
		},
		"UnknownCollection": {
			reason: "A version that is nowhere is named.", requirements: "collections: [{name: acme.base, version: '>=2,<3'}]",
			err: "collections: Failed to resolve the requested dependencies map. Could not satisfy the following requirements: acme.base:>=2,<3 (direct request)",
		},
		"Down": {
			reason: "A server that is down is named.", requirements: "collections: [acme.base]", mood: sources.Down,
			err: "collections: Error when finding available api versions from default ($PUBLIC) (HTTP Code: 503, Message: Service Unavailable)",
		},
		"Garbled": {
			reason: "What is not a Galaxy server is named; what it says instead is cut.", requirements: "collections: [acme.base]", mood: sources.Garbled,
			err: "collections: Failed to parse Galaxy response from '$PUBLIC/api' as JSON",
		},
		"Checksum": {
			reason: "What is not as it was published is not installed.", requirements: "collections: [{name: acme.base, source: $CORRUPT}]",
			err: "collections: Failed to download collection tar from 'explicit_requirement_acme.base': Mismatch artifact hash with downloaded file",
		},
		"UnknownRole": {
			reason: "A role that is nowhere is named.", requirements: "roles: [acme.none]",
			err: "roles: acme.none was NOT installed successfully: sorry, acme.none was not found on $PUBLIC.",
		},
		"GitOtherHost": {
			reason: "A password for one host and port is not for another.", requirements: "roles: [{src: $GIT/motd.git}]",
			credentials: map[string]string{".git-credentials": "https://me:$SECRET@127.0.0.1:1\n"},
			err:         motd + "could not read Username for '$GIT': terminal prompts disabled" + login,
		},
		"GitWrongPassword": {
			reason: "The credential with the password is named.", requirements: "roles: [{src: $GIT/motd.git}]",
			credentials: map[string]string{".git-credentials": "https://me:nonsense@$GITHOST\n"},
			err:         motd + "Authentication failed for '$GIT/motd.git/'" + login,
		},
		"GitUnknownCA": {
			reason: "A private authority is to be given.", requirements: "collections: [$GIT/tools.git]",
			credentials: map[string]string{".git-credentials": gitLogin, "ca.crt": ""},
			err:         cloned + "`$GIT/tools.git`: unable to access '$GIT/tools.git/': server certificate verification failed" + authority,
		},
		"SSHNoKnownHosts": {
			reason: "Without known hosts ssh trusts none, and where they go is said.", requirements: "roles: [{src: $SSH/motd.git}]",
			credentials: map[string]string{"id_rsa": "$KEY"},
			err:         motd + "No ED25519 host key is known for [127.0.0.1]:$SSHPORT and you have requested strict checking" + known,
		},
		"SSHOtherHostKey": {
			reason: "A host with another key is not trusted.", requirements: "roles: [{src: $SSH/motd.git}]",
			credentials: map[string]string{"id_rsa": "$KEY", "known_hosts": "$ELSE"},
			err:         motd + "Host key for [127.0.0.1]:$SSHPORT has changed and you have requested strict checking" + known,
		},
		"SSHWrongKey": {
			reason: "Where a key goes is said.", requirements: "collections: [$SSH/tools.git]",
			credentials: map[string]string{"id_rsa": "$OTHERKEY", "known_hosts": "$KNOWN"},
			err:         cloned + "`ssh://$USER@127.0.0.1:$SSHPORT$ROOT/tools.git`: $USER@127.0.0.1: Permission denied (publickey)" + key,
		},
		"SSHNotAKey": {
			reason: "So it is when it is no key.", requirements: "collections: [$SSH/tools.git]",
			credentials: map[string]string{"id_rsa": "nonsense", "known_hosts": "$KNOWN"},
			err: cloned + "`ssh://$USER@127.0.0.1:$SSHPORT$ROOT/tools.git`: Load key id_rsa: error in libcrypto; " +
				"it must be a private key without a passphrase, as ssh-keygen writes it",
		},
		"TarballNoPassword": {
			reason: "Where a password goes is said.", requirements: "collections: [$FILES/acme-base-1.5.0.tar.gz]",
			err: "collections: Failed to download collection tar from '$FILES/acme-base-1.5.0.tar.gz': HTTP Error 401: Unauthorized" + netrc,
		},
		"TarballRoleNoPassword": {
			reason: "So it is for a role.", requirements: "roles: [$FILES/issue.tar.gz]",
			err: "roles: failed to download the file: HTTP Error 401: Unauthorized; issue was NOT installed successfully" + netrc,
		},
	})
}
