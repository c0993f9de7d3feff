package content

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// TestSourcesFail has what goes wrong with a server of each kind, and what users
// read then.
func TestSourcesFail(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	ca := map[string]string{"SSL_CERT_FILE": "ca.crt"}
	public := map[string]string{"ANSIBLE_GALAXY_SERVER": "$PUBLIC"}
	hub := "[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = $HUB/\n"

	cases := map[string]struct {
		reason       string
		requirements string
		credentials  map[string]string
		vars         map[string]string
		mood         sources.Mood
		want         string
	}{
		"WrongToken": {
			reason:       "The credential with the token is named.",
			requirements: "collections: [acme.web]",
			credentials:  map[string]string{"ansible.cfg": hub + "token = nonsense\n", "ca.crt": "$CA"},
			vars:         ca,
			want: "cannot install collections: Error when finding available api versions from hub ($HUB/) (HTTP Code: 401, Message: Unauthorized); " +
				"check the token, or the username and password, of the server in the credential ansible.cfg",
		},
		"NoToken": {
			reason:       "Where a token goes is said.",
			requirements: "collections: [acme.web]",
			credentials:  map[string]string{"ca.crt": "$CA"},
			vars:         map[string]string{"SSL_CERT_FILE": "ca.crt", "ANSIBLE_GALAXY_SERVER": "$HUB"},
			want: "cannot install collections: Error when finding available api versions from default ($HUB) (HTTP Code: 401, Message: Unauthorized); " +
				"add an ansible.cfg with the server and its token to spec.credentials",
		},
		"WrongRefreshToken": {
			reason:       "So it is for the login of a hub.",
			requirements: "collections: [acme.web]",
			credentials:  map[string]string{"ansible.cfg": hub + "auth_url = $LOGIN/token\ntoken = nonsense\n", "ca.crt": "$CA"},
			vars:         ca,
			want: "cannot install collections: Unable to get access token (HTTP Code: 400, Message: Bad Request); " +
				"check the token and auth_url of the server in the credential ansible.cfg",
		},
		"UnknownCA": {
			reason:       "A private authority is to be given.",
			requirements: "collections: [acme.web]",
			credentials:  map[string]string{"ansible.cfg": cfgToken},
			want: "cannot install collections: Unknown error when attempting to call Galaxy at '$HUB/api': certificate verify failed: unable to get local issuer certificate; " +
				"add the certificate of its authority to spec.credentials, and its filename to spec.vars as SSL_CERT_FILE",
		},
		"UnknownCollection": {
			reason:       "A collection that is nowhere is named.",
			requirements: "collections: [acme.none]",
			vars:         public,
			want:         "cannot install collections: Failed to resolve the requested dependencies map. Could not satisfy the following requirements: acme.none:* (direct request)",
		},
		"UnknownVersion": {
			reason:       "A version that is nowhere is named.",
			requirements: "collections: [{name: acme.base, version: 9.9.9}]",
			vars:         public,
			want:         "cannot install collections: Failed to resolve the requested dependencies map. Could not satisfy the following requirements: acme.base:9.9.9 (direct request)",
		},
		"NoMatchingRange": {
			reason:       "So is a range.",
			requirements: "collections: [{name: acme.base, version: '>=2,<3'}]",
			vars:         public,
			want:         "cannot install collections: Failed to resolve the requested dependencies map. Could not satisfy the following requirements: acme.base:>=2,<3 (direct request)",
		},
		"Wildcard": {
			reason:       "Galaxy's ranges have no wildcards.",
			requirements: "collections: [{name: acme.base, version: '1.*'}]",
			vars:         public,
			want: "cannot install collections: Non integer values in LooseVersion ('1.*'); " +
				"give a range without wildcards, such as >=1.0.0,<2.0.0",
		},
		"Dependency": {
			reason:       "What another collection needs is told with that one.",
			requirements: "collections: [$FILES/acme-web-1.0.0.tar.gz]",
			credentials:  map[string]string{".netrc": netLogin, "ca.crt": "$CA"},
			vars:         map[string]string{"SSL_CERT_FILE": "ca.crt", "ANSIBLE_GALAXY_SERVER": "$EMPTY"},
			want: "cannot install collections: Failed to resolve the requested dependencies map. " +
				"Could not satisfy the following requirements: acme.base:>=1.0.0 (dependency of acme.web:1.0.0)",
		},
		"Down": {
			reason:       "A server that is down is named.",
			requirements: "collections: [acme.base]",
			vars:         public,
			mood:         sources.Down,
			want:         "cannot install collections: Error when finding available api versions from default ($PUBLIC) (HTTP Code: 503, Message: Service Unavailable)",
		},
		"Garbled": {
			reason:       "What is not a Galaxy server is named; what it says instead is cut.",
			requirements: "collections: [acme.base]",
			vars:         public,
			mood:         sources.Garbled,
			want: "cannot install collections: Failed to parse Galaxy response from '$PUBLIC/api' as JSON; " +
				"check that this is the URL of a Galaxy server",
		},
		"Unreachable": {
			reason:       "A server that is not there is named.",
			requirements: "collections: [acme.base]",
			vars:         map[string]string{"ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:1"},
			want:         "cannot install collections: Unknown error when attempting to call Galaxy at 'http://127.0.0.1:1/api': Connection refused",
		},
		"Checksum": {
			reason:       "What is not as it was published is not installed.",
			requirements: "collections: [acme.base]",
			vars:         map[string]string{"ANSIBLE_GALAXY_SERVER": "$CORRUPT"},
			want:         "cannot install collections: Failed to download collection tar from 'default': Mismatch artifact hash with downloaded file",
		},
		"UnknownServer": {
			reason:       "A server of a requirement must be one of ansible.cfg, or a URL.",
			requirements: "collections: [{name: acme.base, source: private}]",
			vars:         public,
			want: "cannot install collections: Collections requirement 'source' entry should contain a valid Galaxy API URL but it does not: private is not an HTTP URL; " +
				"source must be a URL, or a server in server_list of the credential ansible.cfg",
		},
		"UnknownRole": {
			reason:       "A role that is nowhere is named.",
			requirements: "roles: [acme.none]",
			vars:         public,
			want:         "cannot install roles: acme.none was NOT installed successfully: sorry, acme.none was not found on $PUBLIC.",
		},
		"UnknownRoleVersion": {
			reason:       "So is one in another version.",
			requirements: "roles: [{name: acme.issue, version: 9.9.9}]",
			vars:         public,
			want:         "cannot install roles: acme.issue was NOT installed successfully: the specified version (9.9.9) of acme.issue was not found in the list of available versions ([1.0.0, 1.1.0]).",
		},
		"GitNoPasswordCollection": {
			reason:       "Where a password goes is said.",
			requirements: "collections: [$GIT/tools.git]",
			credentials:  map[string]string{"ca.crt": "$CA"},
			vars:         ca,
			want: "cannot install collections: Failed to clone a Git repository from `$GIT/tools.git`: could not read Username for '$GIT': terminal prompts disabled; " +
				"add a .git-credentials with a line https://USER:PASSWORD@HOST to spec.credentials",
		},
		"GitOtherHost": {
			reason:       "A password for one host and port is not for another.",
			requirements: "roles: [{src: $GIT/motd.git}]",
			credentials:  map[string]string{"ca.crt": "$CA", ".git-credentials": "https://me:$SECRET@127.0.0.1:1\n"},
			vars:         ca,
			want: "cannot install roles: motd was NOT installed successfully: could not read Username for '$GIT': terminal prompts disabled; " +
				"check that the credential .git-credentials has a line with the right password for this host and port",
		},
		"GitWrongPassword": {
			reason:       "The credential with the password is named.",
			requirements: "roles: [{src: $GIT/motd.git}]",
			credentials:  map[string]string{"ca.crt": "$CA", ".git-credentials": "https://me:nonsense@$GITHOST\n"},
			vars:         ca,
			want: "cannot install roles: motd was NOT installed successfully: Authentication failed for '$GIT/motd.git/'; " +
				"check that the credential .git-credentials has a line with the right password for this host and port",
		},
		"GitUnknownCA": {
			reason:       "A private authority is to be given.",
			requirements: "collections: [$GIT/tools.git]",
			credentials:  map[string]string{".git-credentials": gitLogin},
			want: "cannot install collections: Failed to clone a Git repository from `$GIT/tools.git`: unable to access '$GIT/tools.git/': server certificate verification failed; " +
				"add the certificate of its authority to spec.credentials, and its filename to spec.vars as SSL_CERT_FILE",
		},
		"GitUnknownTag": {
			reason:       "A version that is not there is named.",
			requirements: "collections: [{name: $GIT/tools.git, version: v9}]",
			credentials:  map[string]string{"ca.crt": "$CA", ".git-credentials": gitLogin},
			vars:         ca,
			want:         "cannot install collections: Failed to switch a cloned Git repo `$GIT/tools.git` to the requested revision `v9`: pathspec 'v9' did not match any file(s) known to git",
		},
		"SSHNoKnownHosts": {
			reason:       "Without known hosts ssh trusts none, and where they go is said.",
			requirements: "roles: [{src: $SSH/motd.git}]",
			credentials:  map[string]string{"id_rsa": "$KEY"},
			want: "cannot install roles: motd was NOT installed successfully: No ED25519 host key is known for [127.0.0.1]:$SSHPORT and you have requested strict checking; " +
				"add a known_hosts with its line, as ssh-keyscan prints it, to spec.credentials",
		},
		"SSHOtherHostKey": {
			reason:       "A host with another key is not trusted.",
			requirements: "roles: [{src: $SSH/motd.git}]",
			credentials:  map[string]string{"id_rsa": "$KEY", "known_hosts": "$ELSE"},
			want: "cannot install roles: motd was NOT installed successfully: Host key for [127.0.0.1]:$SSHPORT has changed and you have requested strict checking; " +
				"when its key was changed on purpose, replace its line in the credential known_hosts",
		},
		"SSHNoKey": {
			reason:       "Where a key goes is said.",
			requirements: "roles: [{src: $SSH/motd.git}]",
			credentials:  map[string]string{"known_hosts": "$KNOWN"},
			want: "cannot install roles: motd was NOT installed successfully: $USER@127.0.0.1: Permission denied (publickey); " +
				"add a private key, such as id_ed25519, to spec.credentials",
		},
		"SSHWrongKey": {
			reason:       "The credential with the key is named.",
			requirements: "collections: [$SSH/tools.git]",
			credentials:  map[string]string{"id_rsa": "$OTHERKEY", "known_hosts": "$KNOWN"},
			want: "cannot install collections: Failed to clone a Git repository from `ssh://$USER@127.0.0.1:$SSHPORT$ROOT/tools.git`: $USER@127.0.0.1: Permission denied (publickey); " +
				"check that the host lets the key in the credential id_rsa read this repository",
		},
		"SSHNotAKey": {
			reason:       "So it is when it is no key.",
			requirements: "collections: [$SSH/tools.git]",
			credentials:  map[string]string{"id_rsa": "nonsense", "known_hosts": "$KNOWN"},
			want: "cannot install collections: Failed to clone a Git repository from `ssh://$USER@127.0.0.1:$SSHPORT$ROOT/tools.git`: Load key id_rsa: error in libcrypto; " +
				"it must be a private key without a passphrase, as ssh-keygen writes it",
		},
		"TarballNoPassword": {
			reason:       "Where a password goes is said.",
			requirements: "collections: [$FILES/acme-base-1.5.0.tar.gz]",
			credentials:  map[string]string{"ca.crt": "$CA"},
			vars:         ca,
			want: "cannot install collections: Failed to download collection tar from '$FILES/acme-base-1.5.0.tar.gz': HTTP Error 401: Unauthorized; " +
				"add a .netrc with a line 'machine HOST login USER password PASSWORD' to spec.credentials",
		},
		"TarballRoleNoPassword": {
			reason:       "Where a password goes is said.",
			requirements: "roles: [$FILES/issue.tar.gz]",
			credentials:  map[string]string{"ca.crt": "$CA"},
			vars:         ca,
			want: "cannot install roles: failed to download the file: HTTP Error 401: Unauthorized; issue was NOT installed successfully; " +
				"add a .netrc with a line 'machine HOST login USER password PASSWORD' to spec.credentials",
		},
		"TarballGarbled": {
			reason:       "What is no archive is named.",
			requirements: "collections: [$PUBLIC/none.tar.gz]",
			want:         "cannot install collections: Collection artifact at 'none.tar.gz' is not a valid tar file.",
		},
	}

	w := newWorld(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.public.Set(tc.mood)
			defer w.public.Set(sources.Well)

			spy := newSpy(t)
			s := newStore(t, t.TempDir(), spy.options()...)

			_, _, err := s.Ensure(t.Context(), request(t, w.inputs(tc.requirements, tc.credentials, tc.vars)))
			if diff := cmp.Diff(tc.want, w.collapse(message(err))); diff != "" {
				t.Errorf("\n%s\nEnsure(...): -want error, +got error:\n%s\n%s", tc.reason, diff, spy.out.String())
			}

			wantNoLeftovers(t, s)
		})
	}
}

// TestSourcesHanging has a server that takes requests and never answers.
func TestSourcesHanging(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	asked := make(chan struct{}, 10)
	srv := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}), sources.Options{})

	s := newStore(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	go func() {
		_, _, err := s.Ensure(ctx, request(t, inputs.Inputs{
			Requirements: "collections: [acme.base]",
			Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": srv.URL},
		}))
		done <- err
	}()

	<-asked
	cancel()

	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("\nA server that does not answer is not waited for when nobody waits any more.\nEnsure(...): %v", err)
	}

	wantNoLeftovers(t, s)
}
