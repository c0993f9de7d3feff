package sandbox

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A judge says what the filter does with system calls, without making any.
type judge struct {
	vm      *bpf.VM
	machine *arch.Info
}

func newJudge(t *testing.T) judge {
	t.Helper()

	program, err := filterProgram()
	if err != nil {
		t.Fatal(err)
	}

	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}

	machine, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}

	return judge{vm: vm, machine: machine}
}

// call by its number in the table of an architecture. The words of seccomp_data are
// in the order of a little-endian machine; each word is as the interpreter, which is
// made for packets, reads it.
func (j judge) call(t *testing.T, id arch.AuditArch, number uint32, args ...uint64) seccomp.Action {
	t.Helper()

	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data, number)
	binary.BigEndian.PutUint32(data[4:], uint32(id))

	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}

	got, err := j.vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}

	return seccomp.Action(got)
}

// TestFilterArguments has what is allowed, and what is next to it. test/security has the attacks.
func TestFilterArguments(t *testing.T) {
	j := newJudge(t)

	const (
		ok    = seccomp.ActionAllow
		other = 1234
	)

	cases := map[string]struct {
		reason string
		call   string
		args   []uint64
		want   seccomp.Action
	}{
		"OwnLimit":        {reason: "A process may have less.", call: "prlimit64", args: []uint64{0, unix.RLIMIT_NOFILE, 1}, want: ok},
		"OwnProcessors":   {reason: "A process may choose where it runs.", call: "sched_setaffinity", args: []uint64{0, 8, 1}, want: ok},
		"Count":           {reason: "Python counts processors.", call: "sched_getaffinity", args: []uint64{0, 8, 1}, want: ok},
		"OtherParameters": {reason: "Nobody is made to wait.", call: "sched_setparam", args: []uint64{other}, want: denied},
		"OwnPriority":     {reason: "nice(1) works.", call: "setpriority", args: []uint64{unix.PRIO_PROCESS, 0, 5}, want: ok},
		"UserPriority":    {reason: "0 is all processes of the user there.", call: "setpriority", args: []uint64{unix.PRIO_USER, 0, 5}, want: denied},
		"OwnDisk":         {reason: "ionice(1) works.", call: "ioprio_set", args: []uint64{1, 0, 0}, want: ok},
		"UserDisk":        {reason: "Nor on the user.", call: "ioprio_set", args: []uint64{3, 0, 0}, want: denied},
		"Thread":          {reason: "Threads are made so.", call: "clone", args: []uint64{unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM}, want: ok},
		"Fork":            {reason: "And processes.", call: "clone", args: []uint64{uint64(unix.SIGCHLD) | unix.CLONE_PIDFD | unix.CLONE_VFORK}, want: ok},
		"Network":         {reason: "No namespace is needed.", call: "clone", args: []uint64{uint64(unix.SIGCHLD) | unix.CLONE_NEWNET}, want: denied},
		"Upper":           {reason: "What the kernel may not look at does not matter.", call: "clone", args: []uint64{1<<40 | unix.CLONE_NEWPID}, want: denied},
		"Pipe":            {reason: "Pipes with a name are files.", call: "mknodat", args: []uint64{0, 0, unix.S_IFIFO | 0o600}, want: ok},
		"Socket":          {reason: "So are sockets.", call: "mknodat", args: []uint64{0, 0, unix.S_IFSOCK | 0o600}, want: ok},
		"File":            {reason: "And files.", call: "mknodat", args: []uint64{0, 0, unix.S_IFREG | 0o600}, want: ok},
		"Terminal":        {reason: "Terminals are asked and told.", call: "ioctl", args: []uint64{0, unix.TIOCGWINSZ}, want: ok},
		"Session":         {reason: "ansible-playbook has one of its own.", call: "setsid", want: ok},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := j.call(t, j.machine.ID, uint32(j.machine.SyscallNames[tc.call]), tc.args...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s%x: -want, +got:\n%s", tc.reason, tc.call, tc.args, diff)
			}
		})
	}
}

// TestFilterCalls asks about each system call whose arguments do not matter.
func TestFilterCalls(t *testing.T) {
	j := newJudge(t)
	want := map[string]seccomp.Action{}

	for name := range j.machine.SyscallNames {
		want[name] = seccomp.ActionAllow
	}

	for _, g := range refused() {
		for _, name := range g.Names {
			if _, ok := want[name]; ok {
				want[name] = g.Action
			}
		}

		for _, c := range g.NamesWithCondtions {
			delete(want, c.Name)
		}
	}

	got := map[string]seccomp.Action{}
	for name := range want {
		got[name] = j.call(t, j.machine.ID, uint32(j.machine.SyscallNames[name]))
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestFilterTables makes system calls by numbers that are not of this machine's own
// table, or that nobody knows yet.
func TestFilterTables(t *testing.T) {
	j := newJudge(t)

	for _, other := range []*arch.Info{arch.X86_64, arch.AARCH64, arch.I386, arch.ARM} {
		if other.ID == j.machine.ID {
			continue
		}

		for number, name := range other.SyscallNumbers {
			if got := j.call(t, other.ID, uint32(number)); got != absent {
				t.Errorf("%s of %s: want %#x, got %#x", name, other.Name, absent, got)
			}
		}
	}

	last := slices.Max(slices.Collect(maps.Keys(j.machine.SyscallNumbers)))

	for number := range uint32(1024) {
		if got := j.call(t, j.machine.ID, number|uint32(arch.X32.SeccompMask)); got != absent {
			t.Errorf("%d of x32: want %#x, got %#x", number, absent, got)
		}

		if got := j.call(t, j.machine.ID, uint32(last)+1+number); got != absent {
			t.Errorf("%d, which nobody knows yet: want %#x, got %#x", uint32(last)+1+number, absent, got)
		}
	}
}

// TestRefused looks for names that no machine has: those are left out of the filter.
func TestRefused(t *testing.T) {
	for _, g := range refused() {
		for _, name := range g.Names {
			if !has(arch.X86_64, name) {
				t.Errorf("there is no system call %q", name)
			}
		}

		for _, c := range g.NamesWithCondtions {
			if !has(arch.X86_64, c.Name) {
				t.Errorf("there is no system call %q", c.Name)
			}
		}
	}
}
