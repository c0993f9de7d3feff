package content

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// secret is the password and the token of all servers.
const secret = "s3cr3t-of-servers"

// A world has a server of each type, with content.
type world struct {
	ca *certs.Authority

	// hub has acme.web, which depends on acme.base. It requires authentication.
	hub *sources.Server
	// login exchanges a refresh token for the token of the hub.
	login *sources.Server
	// public has acme.base and roles, without authentication.
	public *sources.Server
	// git has repositories and files has archives. Both require authentication.
	git, files *sources.Server
	// ssh serves the repositories below root. other has another host key.
	ssh, other *sshd.Server
	root       string
}

func newWorld(t *testing.T) *world {
	t.Helper()

	src := t.TempDir()
	w := &world{root: filepath.Join(src, "repositories")}
	archives := filepath.Join(src, "archives")
	base, _ := buildCollection(t, archives, "base", "1.5.0", "", nil)
	hub, public := sources.NewGalaxy(t, base), sources.NewGalaxy(t, base)

	for _, version := range []string{"1.0.0", "1.2.0", "2.0.0"} {
		web, _ := buildCollection(t, archives, "web", version, `"acme.base": ">=1.0.0"`, nil)
		hub.Publish(t, web)
	}

	hub.Exchange("refresh-"+secret, secret)
	pack(t, filepath.Join(archives, "issue.tar.gz"), below("issue/", roleFiles())...)
	gitRepo(t, filepath.Join(w.root, "tools.git"), collectionFiles("tools", "0.1.0"))
	gitRepo(t, filepath.Join(w.root, "motd.git"), roleFiles())

	chosen := collectionFiles("chosen", "0.1.0")
	chosen["galaxy.yml"] += "manifest: {directives: [recursive-include roles **]}\n"
	gitRepo(t, filepath.Join(w.root, "chosen.git"), chosen)

	var err error

	w.ca, err = certs.New("Test authority")
	needs.OK(t, err)

	private := sources.Options{CA: w.ca, Auth: sources.Auth{User: "me", Password: secret, Token: secret}}
	w.hub = sources.Start(t, hub, private)
	w.login = sources.Start(t, hub, sources.Options{CA: w.ca})
	w.public = sources.Start(t, public, sources.Options{})
	w.git = sources.Start(t, sources.Git(t, w.root), private)
	w.files = sources.Start(t, sources.Files(archives), private)
	w.ssh = sshd.Start(t, t.TempDir(), sshd.Options{Command: sources.GitCommand})
	w.other = sshd.Start(t, t.TempDir(), sshd.Options{Command: sources.GitCommand})

	public.PublishRole("acme", "issue", "1.0.0", w.files.URL+"/issue.tar.gz")
	public.PublishRole("acme", "issue", "1.1.0", w.files.URL+"/issue.tar.gz")

	return w
}

// expand replaces the placeholders of servers in a text.
func (w *world) expand(text string) string {
	host := func(s *sources.Server) string { return strings.TrimPrefix(s.URL, "https://") }

	return strings.NewReplacer(
		"$HUB", w.hub.URL, "$LOGIN", w.login.URL, "$PUBLIC", w.public.URL,
		"$GITHOST", host(w.git), "$GIT", w.git.URL, "$FILES", w.files.URL, "$FILEHOST", "127.0.0.1",
		"$SSHPORT", strconv.Itoa(w.ssh.Port), "$SSH", "ssh://"+w.ssh.User+"@"+net.JoinHostPort(w.ssh.Host, strconv.Itoa(w.ssh.Port))+w.root,
		"$SECRET", secret, "$ROOT", w.root, "$CA", string(w.ca.PEM), "$KEY", string(w.ssh.Key), "$OTHERKEY", string(w.other.Key),
		"$KNOWN", w.ssh.KnownHosts(), "$ELSE", strings.ReplaceAll(w.other.KnownHosts(), strconv.Itoa(w.other.Port), strconv.Itoa(w.ssh.Port)),
	).Replace(text)
}

// collapse is the inverse of expand, for messages.
func (w *world) collapse(text string) string {
	return strings.NewReplacer(
		w.hub.URL, "$HUB", w.login.URL, "$LOGIN", w.public.URL, "$PUBLIC",
		"server verification failed: certificate signer not trusted", "server certificate verification failed", // Newer git.
		w.git.URL, "$GIT", w.files.URL, "$FILES", strconv.Itoa(w.ssh.Port), "$SSHPORT", w.ssh.User+"@127", "$USER@127", w.root, "$ROOT",
	).Replace(text)
}

// inputs returns the inputs of a case: requirements, credentials by name, and variables.
func (w *world) inputs(requirements string, credentials, env map[string]string) inputs.Inputs {
	in := inputs.Inputs{Requirements: w.expand(requirements), Env: map[string]string{}}

	for name, text := range credentials {
		in.Credentials = append(in.Credentials, inputs.File{Name: name, Data: []byte(w.expand(text))})
	}

	for name, value := range env {
		in.Env[name] = w.expand(value)
	}

	return in
}

// A spy records the arguments and the environment of the programs that an
// installation executes.
type spy struct {
	bin, log string
}

func newSpy(t *testing.T) *spy {
	t.Helper()

	s := &spy{bin: t.TempDir(), log: filepath.Join(t.TempDir(), "log")}

	for _, name := range []string{"git", "ssh"} {
		script := fmt.Sprintf("#!/bin/sh\n{ echo %s \"$@\"; env; } >>'%s'\nexec '%s' \"$@\"\n", name, s.log, needs.Program(t, name))
		needs.OK(t, os.WriteFile(filepath.Join(s.bin, name), []byte(script), 0o700))
	}

	return s
}

func (s *spy) installer() galaxy.Installer {
	return galaxy.Installer{
		Environ: []string{"PATH=" + s.bin + ":" + os.Getenv("PATH")},
		Run: func(p supervisor.Command, ctx context.Context) (int, error) {
			f, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return 0, err
			}

			_, _ = fmt.Fprintln(f, strings.Join(p.Argv, " ")+"\n"+strings.Join(p.Env, "\n"))
			_ = f.Close()

			return p.Run(ctx)
		},
	}
}

// installs installs the requirements of inputs into an empty store. The set is in use until the test ends. No secret
// may be in an argument, in an environment, or left on the disk.
func installs(t *testing.T, in inputs.Inputs) (Set, string) {
	t.Helper()

	spy := newSpy(t)
	s := newStore(t, Config{Dir: t.TempDir(), Installer: spy.installer()})

	set, release, err := s.Ensure(t.Context(), request(t, in))
	if err == nil {
		t.Cleanup(release)
	}

	seen, _ := os.ReadFile(spy.log)
	if strings.Contains(string(seen), secret) {
		t.Errorf("\nNo secret should be in an argument or an environment.\n%s", seen)
	}

	if found, err := exec.Command("grep", "-r", "-e", secret, "-e", "OPENSSH PRIVATE", s.config.Dir).CombinedOutput(); fmt.Sprint(err) != "exit status 1" {
		t.Errorf("\nNo secret should be left on the disk.\n%s", found)
	}

	wantNoLeftovers(t, s)

	return set, needs.Message(err)
}
