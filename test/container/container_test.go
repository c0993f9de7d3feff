package container

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestMain(m *testing.M) {
	Init()
	os.Exit(m.Run())
}

// machine is the file system of this machine, as far as a shell needs it.
func machine(t *testing.T) (root string, mounts []Mount) {
	t.Helper()
	root = t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"bin", "lib", "lib64"} {
		if to, err := os.Readlink("/" + d); err == nil {
			if err := os.Symlink(to, filepath.Join(root, d)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root, []Mount{{Source: "/usr", Target: "/usr", ReadOnly: true}}
}

func TestContainer(t *testing.T) {
	cases := map[string]struct {
		reason   string
		script   string
		readOnly bool
		want     string
	}{
		"User": {
			reason: "The process should be the user, and have no capabilities nor a way to get any.",
			script: "id -u; id -g; grep -E '^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status | tr '\\t' ' '",
			want:   "2000\n2000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\n",
		},
		"Processes": {
			reason: "The process should be the first, and see no others.",
			script: "echo $$; readlink /proc/1/exe | grep -c sh; test -e /proc/1000 || echo alone",
			want:   "1\n1\nalone\n",
		},
		"Network": {
			reason: "There should be nothing but loopback.",
			script: "tail -n +3 /proc/net/dev | cut -d: -f1",
			want:   "    lo\n",
		},
		"ReadOnly": {
			reason:   "Only mounts should take files.",
			script:   "echo > /file; echo > /usr/file; echo hello > /data/file && cat /data/file",
			readOnly: true,
			want:     "hello\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root, mounts := machine(t)
			data := t.TempDir()
			if err := os.Chmod(data, 0o777); err != nil {
				t.Fatal(err)
			}
			out := &bytes.Buffer{}
			c, err := Start(Spec{
				Root: root, ReadOnly: tc.readOnly, Mounts: append(mounts, Mount{Source: data, Target: "/data"}),
				Argv: []string{"sh", "-c", "exec 2>/dev/null; " + tc.script}, Env: []string{"PATH=/usr/bin"}, Dir: "/",
				User: 2000, Group: 2000, Output: out,
			})
			if err != nil {
				needs.Machinef(t, "This machine does not let this user run containers: %s", err)
			}
			select {
			case <-c.Ended():
			case <-time.After(time.Minute):
				t.Fatal("The container does not end.")
			}
			if got := out.String(); got != tc.want {
				t.Errorf("%s\nwant:\n%s\ngot:\n%s", tc.reason, tc.want, strings.TrimSpace(got))
			}
		})
	}
}

// TestThreads connects a container on threads that end, while it starts.
func TestThreads(t *testing.T) {
	root, mounts := machine(t)
	n := &Network{}
	defer n.Close()
	s := Spec{Root: root, Mounts: mounts, Argv: []string{"sleep", "0.1"}, Env: []string{"PATH=/usr/bin"}, Dir: "/", User: 2000, Group: 2000}
	if _, err := Start(s); err != nil {
		needs.Machinef(t, "This machine does not let this user run containers: %s", err)
	}
	s.Connect = func(pid int) error {
		for port := range 50 {
			if err := n.Reach(pid, fmt.Sprintf("127.0.0.1:%d", 1000+port)); err != nil {
				return err
			}
		}
		return nil
	}
	for range 10 {
		c, err := Start(s)
		if err != nil {
			t.Fatal(err)
		}
		if <-c.Ended(); c.Err() != nil {
			t.Fatalf("A container should not end with a thread, got %s", c.Err())
		}
	}
}
