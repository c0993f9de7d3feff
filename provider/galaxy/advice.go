package galaxy

import "regexp"

// advices say how to change a configuration after a failure, by patterns of its reason. The first match wins.
var advices = []struct { //nolint:gochecknoglobals // They are never changed.
	reason *regexp.Regexp
	text   string
}{
	{
		regexp.MustCompile(`^Signature verification failed`),
		"it must be signed with a key in the keyring, which has public keys as gpg --export writes them, without --armor",
	},
	{
		regexp.MustCompile(
			`(?i)(Failed to download collection tar from '\S+://|failed to download the file).*HTTP Error 40[13]`),
		"the credential .netrc must have a line 'machine HOST login USER password PASSWORD' for its host",
	},
	{
		regexp.MustCompile(`HTTP (Code:|Error) 40[13]|Unable to get access token`),
		"check the token of the server in the credential ansible.cfg",
	},
	{
		regexp.MustCompile(
			`could not read (Username|Password)|Authentication failed|HTTP Basic: Access denied|` +
				`The requested URL returned error: 40[13]`),
		"the credential .git-credentials must have a line https://USER:PASSWORD@HOST for this host and port",
	},
	{
		regexp.MustCompile(
			`certificate verif|server verification failed|unable to get local issuer|self.signed certificate`),
		"SSL_CERT_FILE in spec.vars must name a credential with the certificate of its authority",
	},
	{
		regexp.MustCompile(`Host key for .* has changed|host key is known for|Host key verification failed`),
		"the credential known_hosts must have its line, as ssh-keyscan prints it",
	},
	{regexp.MustCompile(`Load key`), "it must be a private key without a passphrase, as ssh-keygen writes it"},
	{
		regexp.MustCompile(`Permission denied \(`),
		"a private key that the host lets read this repository must be among spec.credentials, such as id_ed25519",
	},
	{
		regexp.MustCompile(`\[Errno 13\] Permission denied|'/.*' does not appear to be a git repository`),
		"installations read only what spec.confinement.readPaths, or the flag --read-path, allows, beside the system",
	},
}

// advice returns how to mend the cause of a failure; empty if that is unknown.
func advice(reason string) string {
	for _, a := range advices {
		if a.reason.MatchString(reason) {
			return a.text
		}
	}

	return ""
}
