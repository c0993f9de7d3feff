package content

// refusals returns cases of errors with servers of each type, and their messages.
func refusals() map[string]sourceCase {
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

	return map[string]sourceCase{
		"WrongToken": {
			reason: "The message names the place of a token.", requirements: "collections: [acme.web]",
			credentials: map[string]string{"ansible.cfg": hub + "token = nonsense\n"},
			err:         "collections: Error when finding available api versions from hub ($HUB/) (HTTP Code: 401, Message: Unauthorized)" + token,
		},
		"UnknownCA": {
			reason: "The message tells how to configure a private authority.", requirements: "collections: [acme.web]",
			credentials: map[string]string{"ansible.cfg": cfgToken, "ca.crt": ""},
			err:         "collections: Unknown error when attempting to call Galaxy at '$HUB/api': certificate verify failed: unable to get local issuer certificate" + authority,
		},
		"UnknownCollection": {
			reason: "The message names a missing version.", requirements: "collections: [{name: acme.base, version: '>=2,<3'}]",
			err: "collections: Failed to resolve the requested dependencies map. Could not satisfy the following requirements: acme.base:>=2,<3 (direct request)",
		},
		"Down": {
			reason: "The message names an unavailable server.", requirements: "collections: [acme.base]",
			vars: map[string]string{"ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:1"},
			err:  "collections: Unknown error when attempting to call Galaxy at 'http://127.0.0.1:1/api': Connection refused",
		},
		"GitWrongPassword": {
			reason: "The message names the credential with the password.", requirements: "roles: [{src: $GIT/motd.git}]",
			credentials: map[string]string{".git-credentials": "https://me:nonsense@$GITHOST\n"},
			err:         motd + "Authentication failed for '$GIT/motd.git/'" + login,
		},
		"GitUnknownCA": {
			reason: "The message tells how to configure a private authority.", requirements: "collections: [$GIT/tools.git]",
			credentials: map[string]string{".git-credentials": gitLogin, "ca.crt": ""},
			err:         cloned + "`$GIT/tools.git`: unable to access '$GIT/tools.git/': server certificate verification failed" + authority,
		},
		"SSHNoKnownHosts": {
			reason: "Without known_hosts, ssh trusts no host. The message names the place of host keys.", requirements: "roles: [{src: $SSH/motd.git}]",
			credentials: map[string]string{"id_rsa": "$KEY"},
			err:         motd + "No ED25519 host key is known for [127.0.0.1]:$SSHPORT and you have requested strict checking" + known,
		},
		"SSHOtherHostKey": {
			reason: "A host with another key is not trusted.", requirements: "roles: [{src: $SSH/motd.git}]",
			credentials: map[string]string{"id_rsa": "$KEY", "known_hosts": "$ELSE"},
			err:         motd + "Host key for [127.0.0.1]:$SSHPORT has changed and you have requested strict checking" + known,
		},
		"SSHWrongKey": {
			reason: "The message names the place of a private key.", requirements: "collections: [$SSH/tools.git]",
			credentials: map[string]string{"id_rsa": "$OTHERKEY", "known_hosts": "$KNOWN"},
			err:         cloned + "`ssh://$USER@127.0.0.1:$SSHPORT$ROOT/tools.git`: $USER@127.0.0.1: Permission denied (publickey)" + key,
		},
		"SSHNotAKey": {
			reason: "The message names the expected format of a private key.", requirements: "collections: [$SSH/tools.git]",
			credentials: map[string]string{"id_rsa": "nonsense", "known_hosts": "$KNOWN"},
			err: cloned + "`ssh://$USER@127.0.0.1:$SSHPORT$ROOT/tools.git`: Load key id_rsa: error in libcrypto; " +
				"it must be a private key without a passphrase, as ssh-keygen writes it",
		},
		"TarballNoPassword": {
			reason: "The message names the place of a password.", requirements: "collections: [$FILES/acme-base-1.5.0.tar.gz]",
			err: "collections: Failed to download collection tar from '$FILES/acme-base-1.5.0.tar.gz': HTTP Error 401: Unauthorized" + netrc,
		},
	}
}
