package galaxy

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestEnvironment checks the environment and the arguments of commands without running them.
func TestEnvironment(t *testing.T) {
	var (
		got  []string
		home string
		argv []string
		file []byte
	)

	dir := t.TempDir()
	w := Workspace{Private: dir, Set: filepath.Join(dir, "set")}
	needs.OK(t, os.Mkdir(w.Home(), 0o700))

	i := Installer{
		Environ: []string{"PATH=/bin", "KUBERNETES_TOKEN=x", "HTTPS_PROXY=p", "HOME=/root"},
		Run: func(p supervisor.Command, _ context.Context) (int, error) {
			got, home, argv = p.Env, p.Dir, p.Argv
			file, _ = os.ReadFile(filepath.Join(p.Dir, ".git-credentials"))

			return 1, nil
		},
	}

	req, err := NewRequest(inputs.Inputs{
		Requirements: "collections: [secret.name]",
		Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": "s", "HOME": "/elsewhere", "SSL_CERT_FILE": "./ca.crt", "NETRC": "/etc/netrc"},
		Credentials:  []inputs.File{{Name: ".git-credentials", Data: []byte("creds")}, {Name: "ansible.cfg"}, {Name: "password"}, {Name: "ca.crt"}},
	})
	needs.OK(t, err)

	if _, err := i.Install(t.Context(), req, w); err == nil {
		t.Fatal("want an error")
	}

	root := filepath.Dir(home)
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], root, "/workspace")
	}

	want := []string{
		"ANSIBLE_COLLECTIONS_PATH=/workspace/set/collections",
		"ANSIBLE_COLLECTIONS_SCAN_SYS_PATH=0",
		"ANSIBLE_CONFIG=/workspace/home/ansible.cfg",
		"ANSIBLE_FORCE_COLOR=0",
		"ANSIBLE_GALAXY_CACHE_DIR=/workspace/temp",
		"ANSIBLE_GALAXY_DISPLAY_PROGRESS=0",
		"ANSIBLE_GALAXY_SERVER=s",
		"ANSIBLE_LOCAL_TEMP=/workspace/temp",
		"ANSIBLE_NOCOLOR=1",
		"ANSIBLE_ROLES_PATH=/workspace/set/roles",
		"GIT_ALLOW_PROTOCOL=file:http:https:ssh",
		"GIT_ASKPASS=",
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_KEY_0=credential.helper",
		"GIT_CONFIG_KEY_1=credential.helper",
		"GIT_CONFIG_VALUE_0=",
		"GIT_CONFIG_VALUE_1=store --file='/workspace/home/.git-credentials'",
		"GIT_SSH_COMMAND=" + sshCommand(nil, nil, ""),
		"GIT_SSL_CAINFO=/workspace/home/ca.crt",
		"GIT_SSL_CAPATH=/etc/ssl/certs",
		"GIT_TERMINAL_PROMPT=0",
		"HOME=/workspace/home",
		"HTTPS_PROXY=p",
		"LANG=C.UTF-8",
		"NETRC=/etc/netrc",
		"PATH=/bin",
		"SSH_ASKPASS_REQUIRE=never",
		"SSL_CERT_FILE=/workspace/home/ca.crt",
		"TMPDIR=/workspace/temp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("\nOther variables of the provider are not passed. Required variables win over the configuration.\nInstall(...): -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff("creds", string(file)); diff != "" {
		t.Errorf("\nThe credentials are in the files that the variables name.\nInstall(...): -want, +got:\n%s", diff)
	}

	if slices.ContainsFunc(argv, func(s string) bool { return strings.Contains(s, "secret.name") }) {
		t.Errorf("\nNo setting of a user is an argument.\nInstall(...): %q", argv)
	}
}

// TestSSHCommand has credentials in a directory with a name that needs quotes.
func TestSSHCommand(t *testing.T) {
	want := `ssh -o 'IdentityFile="/it'\''s 100%% w/id_rsa"' -o 'UserKnownHostsFile="/it'\''s 100%% w/known_hosts"'` +
		" -o 'BatchMode=yes' -o 'IdentitiesOnly=yes' -o 'StrictHostKeyChecking=yes' -o 'LogLevel=ERROR' -o 'ConnectTimeout=30'"

	files := []inputs.File{{Name: "id_rsa"}, {Name: "known_hosts"}, {Name: "password"}}
	if diff := cmp.Diff(want, sshCommand(sshKeys(nil, files), files, "/it's 100% w")); diff != "" {
		t.Errorf("sshCommand(...): -want, +got:\n%s", diff)
	}
}
