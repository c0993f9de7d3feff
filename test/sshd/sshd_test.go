package sshd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestServer(t *testing.T) {
	s := start(t, Options{Env: map[string]string{"GREETING": `say "hello" to all`}})
	forced := start(t, Options{Command: `echo forced "$SSH_ORIGINAL_COMMAND"`})
	other := start(t, Options{})

	type want struct {
		out string
		err string
	}

	cases := map[string]struct {
		reason string
		server *Server
		key    []byte
		known  string
		want   want
	}{
		"Command": {
			reason: "What a client asks for is run, with the environment of the server's commands.",
			server: s,
			key:    s.Key,
			known:  s.KnownHosts(),
			want:   want{out: `say "hello" to all in ` + s.Home},
		},
		"ForcedCommand": {
			reason: "What the server insists on is run instead.",
			server: forced,
			key:    forced.Key,
			known:  forced.KnownHosts(),
			want:   want{out: `forced echo "$GREETING in $HOME"`},
		},
		"OtherKey": {
			reason: "One key opens the server, no other does.",
			server: s,
			key:    other.Key,
			known:  s.KnownHosts(),
			want:   want{err: "Permission denied (publickey)."},
		},
		"OtherHostKey": {
			reason: "A client can tell one server from another.",
			server: s,
			key:    s.Key,
			known:  strings.ReplaceAll(other.KnownHosts(), strconv.Itoa(other.Port), strconv.Itoa(s.Port)),
			want:   want{err: "Host key verification failed."},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := ssh(t, tc.server, tc.key, tc.known)

			got := want{out: strings.TrimSpace(out)}
			if err != nil && strings.Contains(out, tc.want.err) {
				got = want{err: tc.want.err}
			}

			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nssh: -want, +got:\n%s\n%v\n%s", tc.reason, diff, err, tc.server.Log())
			}
		})
	}
}

func TestStop(t *testing.T) {
	s := start(t, Options{Command: "cat"})
	cmd := client(t, s, s.Key, s.KnownHosts())

	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}

	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("cannot connect: %v\n%s", err, s.Log())
	}

	s.Stop()

	if err := cmd.Wait(); err == nil {
		t.Errorf("\nA server that is stopped ends its connections.\nStop(): the client ended without an error")
	}

	if out, err := ssh(t, s, s.Key, s.KnownHosts()); err == nil || !strings.Contains(out, "Connection refused") {
		t.Errorf("\nA server that is stopped takes no connections.\nStop(): %v\n%s", err, out)
	}

	if diff := cmp.Diff(1, s.Connections()); diff != "" {
		t.Errorf("\nConnections are counted.\nConnections(): -want, +got:\n%s", diff)
	}
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	needs.Program(t, "sshd")

	s, err := Start(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Stop)

	return s
}

func ssh(t *testing.T, s *Server, key []byte, known string) (string, error) {
	t.Helper()

	out, err := client(t, s, key, known).CombinedOutput()

	return string(out), err
}

func client(t *testing.T, s *Server, key []byte, known string) *exec.Cmd {
	t.Helper()

	dir := t.TempDir()
	for name, data := range map[string][]byte{"key": key, "known_hosts": []byte(known)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return exec.CommandContext(t.Context(), "ssh", "-F", "none", "-i", filepath.Join(dir, "key"),
		"-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes",
		"-o", "UserKnownHostsFile="+filepath.Join(dir, "known_hosts"), "-o", "LogLevel=ERROR",
		"-p", strconv.Itoa(s.Port), s.User+"@"+s.Host, `echo "$GREETING in $HOME"`)
}
