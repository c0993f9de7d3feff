package security

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// maxWait is how long a test waits for an event.
const maxWait = time.Minute

// A fixture has a run that attacks, and files and processes out of its reach.
type fixture struct {
	dir string
	// own is the private data directory of the run that attacks.
	own string
	env []string
}

// newFixture in a temporary directory, with a victim that runs until the test is over.
func newFixture(t *testing.T) *fixture {
	t.Helper()

	dir, err := filepath.EvalSymlinks(t.TempDir())
	needs.OK(t, err)

	w := &fixture{dir: dir, own: filepath.Join(dir, "state", "runs", "own")}

	needs.Write(t, dir, map[string]string{
		"state/runs/own/project/playbook.yml":        "[]",
		"state/runs/other/project/.git-credentials":  "https://user:hunter2@example.org",
		"state/runs/other/cp/victim":                 "",
		"state/content/sets/other/roles/r/main.yml":  "[]",
		"state/content/tmp/other/home/ansible.cfg":   "[galaxy]",
		"secrets/kubernetes.io/serviceaccount/token": "token",
		"kube/config": "kubeconfig",
	})

	// What the provider listens on, for its own processes.
	name := "@" + rand.Text()

	l, err := net.Listen("unix", name)
	needs.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })

	w.env = []string{
		"PATH=/usr/bin:/bin", "TOOL=" + os.Args[0], "OWN=" + w.own, "STATE=" + filepath.Join(dir, "state"),
		"OTHER=" + filepath.Join(dir, "state/runs/other"), "STORE=" + filepath.Join(dir, "state/content"),
		"TOKEN=" + filepath.Join(dir, "secrets/kubernetes.io/serviceaccount/token"), "KUBE=" + filepath.Join(dir, "kube/config"),
		"PROVIDER=" + strconv.Itoa(os.Getpid()), "ABSTRACT=" + name, "TERMINAL=" + terminal(t),
		"VICTIM=" + strconv.Itoa(w.victim(t)),
	}

	return w
}

// terminal that another process has open.
func terminal(t *testing.T) string {
	t.Helper()

	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	needs.OK(t, err)
	t.Cleanup(func() { _ = f.Close() })

	// ioctl_tty(2)
	needs.OK(t, unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0))

	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
	needs.OK(t, err)

	return fmt.Sprintf("/dev/pts/%d", n)
}

// policy of the provider in this fixture, as its flags make it.
func (w *fixture) policy() sandbox.Policy {
	return sandbox.Policy{
		Mode: sandbox.Required, State: filepath.Join(w.dir, "state"), ServiceAccount: []string{filepath.Join(w.dir, "secrets/kubernetes.io/serviceaccount")},
		System: sandbox.Machine{Root: os.DirFS("/")}.Survey([]string{filepath.Dir(os.Args[0])}, []string{w.dir}),
	}
}

// domain of a run with a private data directory.
func (w *fixture) domain(t *testing.T, dir string, g sandbox.Grant) sandbox.Domain {
	t.Helper()

	d, err := w.policy().Domain([]string{os.Args[0]}, []string{dir}, g)
	needs.OK(t, err)

	return d
}

// victim is another run, confined like all, with a secret in its environment
// and one in its arguments. It returns the victim's process id.
func (w *fixture) victim(t *testing.T) int {
	t.Helper()

	dir := filepath.Join(w.dir, "state/runs/other")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})

	go func() {
		defer close(done)

		_, _ = supervisor.Command{
			Dir: dir, Domain: w.domain(t, dir, sandbox.Grant{}), Env: []string{"PATH=/usr/bin:/bin", "SECRET=hunter2"},
			Argv:   []string{"/bin/sh", "-c", `echo $$ >pid.new; mv pid.new pid; exec sleep 1000 # hunter2`},
			Stdout: io.Discard, Stderr: io.Discard,
		}.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })

	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if raw, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
			needs.OK(t, err)

			return pid
		}
	}

	t.Fatal("the victim has not started")

	return 0
}

// attack with a script in a domain, and return its output.
func (w *fixture) attack(ctx context.Context, t *testing.T, d sandbox.Domain, script string) string {
	t.Helper()

	var out bytes.Buffer

	cmd := supervisor.Command{
		Argv: []string{"/bin/sh", "-c", script}, Env: w.env, Dir: w.own, Domain: d, Stdout: &out, Stderr: &out,
	}
	if _, err := cmd.Run(ctx); err != nil {
		t.Fatalf("Run(...): %v\n%s", err, out.String())
	}

	return out.String()
}

func TestAttacks(t *testing.T) {
	needLandlock(t)

	scope := sandbox.Landlock() >= 6

	cases := map[string]struct {
		reason string
		// script of the attack, which prints OWNED if it succeeds.
		script string
		// skip it where the kernel is too old.
		skip bool
		// safe is true for an attack that fails without Landlock, too.
		safe bool
		// root is true for what the kernel permits only to root.
		root bool
	}{
		"ReadRun":        {reason: "Other runs have credentials.", script: `cat "$OTHER/project/.git-credentials" && echo OWNED`},
		"ListRuns":       {reason: "The names of runs are secret: they lead to the files.", script: `ls "$STATE/runs" && echo OWNED`},
		"WriteRun":       {reason: "No run changes what another run executes.", script: `echo >"$OTHER/project/hosts" && echo OWNED`},
		"RemoveRun":      {reason: "No run removes files of another run.", script: `rm "$OTHER/cp/victim" && echo OWNED`},
		"TruncateRun":    {reason: "No run empties files of another run.", script: `truncate --size=0 "$OTHER/project/.git-credentials" && echo OWNED`, skip: sandbox.Landlock() < 3},
		"MoveRun":        {reason: "No run moves files of another run.", script: `mv "$OTHER/project" mine && echo OWNED`},
		"LinkRun":        {reason: "No run makes hard links to files of another run.", script: `ln "$OTHER/project/.git-credentials" mine && cat mine && echo OWNED`},
		"SymlinkRun":     {reason: "A symbolic link gives no access to files of another run.", script: `ln -s "$OTHER/project" link; cat link/.git-credentials && echo OWNED`},
		"ReadToken":      {reason: "The service account can read all Secrets.", script: `cat "$TOKEN" && echo OWNED`},
		"ReadKubeconfig": {reason: "The kubeconfig can read all Secrets.", script: `cat "$KUBE" && echo OWNED`},
		"ReadInstall":    {reason: "Installations have credentials of other tenants.", script: `cat "$STORE/tmp/other/home/ansible.cfg" && echo OWNED`},
		"ReadContent":    {reason: "Other tenants may have installed content with their credentials.", script: `cat "$STORE/sets/other/roles/r/main.yml" && echo OWNED`},
		"WriteContent":   {reason: "Other runs execute the content of the store.", script: `echo >>"$STORE/sets/other/roles/r/main.yml" && echo OWNED`},
		"PlantContent":   {reason: "Only installations add content to the store.", script: `ln -s "$OWN" "$STORE/sets/mine" && echo OWNED`},
		"ListProcesses":  {reason: "A run does not see the processes of others.", script: `ls /proc && echo OWNED`},
		"Arguments":      {reason: "Careless content has secrets in its arguments.", script: `cat "/proc/$VICTIM/cmdline" && echo OWNED`},
		"Environment":    {reason: "The environment of other runs has secrets.", script: `cat "/proc/$VICTIM/environ" && echo OWNED`},
		"Provider":       {reason: "The environment of the provider may have secrets.", script: `grep -q PATH "/proc/$PROVIDER/environ" && echo OWNED`},
		"Memory":         {reason: "The layout of memory is the first step to reading it.", script: `head -c 1 "/proc/$VICTIM/maps" && echo OWNED`},
		"Root":           {reason: "The root directory of others leads to their files.", script: `cat "/proc/$VICTIM/cwd/project/.git-credentials" && echo OWNED`},
		"Trace":          {reason: "A tracer controls its process.", script: `"$TOOL" tool trace "$VICTIM"`},
		"Descriptor":     {reason: "A descriptor of another process gives access to its files.", script: `"$TOOL" tool descriptor "$VICTIM"`},
		"Capabilities":   {reason: "A root process has no capabilities.", script: `"$TOOL" tool capabilities`, root: true},
		"Device":         {reason: "A disk has the files of all runs.", script: `mknod disk b 7 0 && echo OWNED`, root: true},
		"KillRun":        {reason: "Runs do not end each other.", script: `kill -0 "$VICTIM" && echo OWNED`, skip: !scope},
		"KillProvider":   {reason: "No run ends the provider.", script: `kill -0 "$PROVIDER" && echo OWNED`, skip: !scope},
		"KillSupervisor": {reason: "No run ends its supervisor, which ends its daemons.", script: `kill -0 "$PPID" && echo OWNED`, skip: !scope},
		"Socket":         {reason: "Abstract sockets of the provider cannot be reached.", script: `"$TOOL" tool connect "$ABSTRACT"`, skip: !scope},
		"SharedMemory":   {reason: "Names in shared memory cannot be listed.", script: `ls /dev/shm && echo OWNED`},
		"Shared":         {reason: "Runs share no directory.", script: `echo >"/tmp/$$.attack" && rm "/tmp/$$.attack" && echo OWNED`},
		"Terminal":       {reason: "No run writes to a terminal of another process.", script: `echo >"$TERMINAL" && echo OWNED`},
		"NewTerminal":    {reason: "No run creates a terminal, since others could open it.", script: `(: <>/dev/ptmx) && echo OWNED`},
		"Pipe":           {reason: "No run writes to the pipe of another run's output.", script: `echo >"/proc/$VICTIM/fd/1" && echo OWNED`},
		"Privileges":     {reason: "No program gives new privileges.", script: `"$TOOL" tool privileges`},
		"Descriptors":    {reason: "No descriptor is inherited.", script: `"$TOOL" tool descriptors`, safe: true},
		"Cores":          {reason: "There are no core dumps, which would have secrets.", script: `test "$(ulimit -c)" = 0 || echo OWNED`, safe: true},
		"Umask":          {reason: "New files can be read only by their owner.", script: `: >new; mkdir -p dir; stat -c %a new dir | grep -qv '^[67]00$' && echo OWNED`, safe: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if tc.skip {
				needs.Machinef(t, "The kernel is too old.")
			}

			if tc.root {
				needs.Root(t, "Only root can do that.")
			}

			w := newFixture(t)

			if out := w.attack(t.Context(), t, w.domain(t, w.own, sandbox.Grant{}), tc.script); strings.Contains(out, owned) {
				t.Errorf("%s\n%s", tc.reason, out)
			}

			// The attack must succeed without confinement. Otherwise it proves nothing.
			if out := w.attack(t.Context(), t, sandbox.Domain{}, tc.script); strings.Contains(out, owned) == tc.safe {
				t.Errorf("without confinement: %s\n%s", tc.reason, out)
			}
		})
	}
}

func TestGrants(t *testing.T) {
	needLandlock(t)

	w := newFixture(t)
	token := filepath.Join(w.dir, "secrets/kubernetes.io/serviceaccount")
	shared := filepath.Join(w.dir, "shared", "new")

	cases := map[string]struct {
		reason       string
		grant        sandbox.Grant
		script, want string
	}{
		"ServiceAccount": {"A configuration may grant the service account.", sandbox.Grant{ServiceAccount: true}, `cat "$TOKEN"; echo >>"$TOKEN" && echo OWNED`, "token"},
		"Read":           {"A configuration may grant more paths to read.", sandbox.Grant{Read: []string{token}}, `cat "$TOKEN"; rm "$TOKEN" && echo OWNED`, "token"},
		"Write": {
			"A configuration may grant paths to write. A missing directory is made.",
			sandbox.Grant{Write: []string{shared}},
			fmt.Sprintf(`echo hello >%[1]s/page && mv %[1]s/page mine && cat mine`, shared), "hello\n",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := w.attack(t.Context(), t, w.domain(t, w.own, tc.grant), "{ "+tc.script+"; } 2>/dev/null; true")
			if diff := cmp.Diff(tc.want, out); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	w := newFixture(t)

	cases := map[string]struct {
		reason string
		limits sandbox.Limits
		script string
		// user is true for limits that root does not have.
		user bool
		want string
	}{
		"FileSize": {
			reason: "The size of a file is limited.",
			limits: sandbox.Limits{FileSize: 1 << 20},
			script: `head -c 4000000 /dev/zero >big; stat -c %s big`,
			want:   "1048576\n",
		},
		"Memory": {
			reason: "The memory of a process is limited.",
			limits: sandbox.Limits{Memory: 256 << 20},
			script: `head -c 400000000 /dev/zero | tail -n 1 | wc -c`,
			want:   "0\n",
		},
		"Processes": {
			reason: "The number of processes is limited, and none outlives the run.",
			limits: sandbox.Limits{Processes: 100},
			// The inner shell ends when it cannot fork; the outer one prints that without a fork.
			script: `(n=0; while echo $n >forked && test $n -lt 200; do sleep 1000 & n=$((n + 1)); done); read n <forked; test $n -le 100 && echo over`,
			user:   true,
			want:   "over\n",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.user && os.Getuid() == 0 {
				t.Skip("root has no such limit")
			}

			ctx, cancel := context.WithTimeout(t.Context(), maxWait)
			defer cancel()

			d := w.domain(t, w.own, sandbox.Grant{})
			d.Limits = tc.limits

			out := w.attack(ctx, t, d, "exec 2>/dev/null; "+tc.script)
			if diff := cmp.Diff(tc.want, out); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func needLandlock(tb testing.TB) {
	tb.Helper()

	if sandbox.Landlock() == 0 {
		needs.Machinef(tb, "There is no Landlock here")
	}
}
