package container

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// What this binary is to be instead of what it usually is.
const envInit = "CROSSPLANE_ANSIBLE_INIT"

// File descriptors of an init.
const (
	fdSpec = 3
	fdUp   = 4
)

// Where the file system of whoever started the container is while the
// container's own is made.
const outside = "/.outside"

// Init becomes the process of a container, if this process was started to be one.
func Init() {
	if os.Getenv(envInit) != "container" {
		return
	}
	// What is changed below belongs to a thread.
	runtime.LockOSThread()
	if err := become(); err != nil {
		_, _ = os.Stderr.WriteString("cannot start the process of a container: " + err.Error() + "\n")
		os.Exit(125)
	}
}

func become() error {
	if err := loopbackUp(); err != nil {
		return err
	}
	if _, err := unix.Write(fdUp, []byte{0}); err != nil {
		return errors.Wrap(err, "cannot report")
	}
	s := Spec{}
	if err := json.NewDecoder(os.NewFile(fdSpec, "spec")).Decode(&s); err != nil {
		return errors.Wrap(err, "cannot read the spec")
	}
	if err := enter(s); err != nil {
		return err
	}
	if err := os.Chdir(s.Dir); err != nil {
		return err
	}
	path, err := lookPath(s)
	if err != nil {
		return err
	}
	unix.CloseOnExec(fdSpec)
	unix.CloseOnExec(fdUp)
	if err := drop(s); err != nil {
		return err
	}
	return errors.Wrapf(unix.Exec(path, s.Argv, s.Env), "cannot execute %q", path)
}

// enter the file system of the container: a layer in memory above the image, and
// the mounts above that.
func enter(s Spec) error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := mount("tmpfs", s.Scratch, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	dir := func(name string) string { return filepath.Join(s.Scratch, name) }
	for _, n := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(dir(n), 0o755); err != nil { //nolint:gosec // Another user looks into it.
			return err
		}
	}
	if err := mount("overlay", dir("root"), "overlay", 0, "lowerdir="+s.Root+",upperdir="+dir("upper")+",workdir="+dir("work")); err != nil {
		return err
	}
	if err := os.Mkdir(dir("root")+outside, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(dir("root"), dir("root")+outside); err != nil {
		return errors.Wrap(err, "cannot change the root")
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := devices(); err != nil {
		return err
	}
	for _, m := range s.Mounts {
		if err := bind(outside+m.Source, m.Target, m.ReadOnly); err != nil {
			return err
		}
	}
	if err := unix.Unmount(outside, unix.MNT_DETACH); err != nil {
		return errors.Wrap(err, "cannot leave what is outside")
	}
	if err := os.Remove(outside); err != nil {
		return err
	}
	if !s.ReadOnly {
		return nil
	}
	return mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// devices, and what else every container has.
func devices() error {
	for _, m := range []struct{ target, kind, data string }{
		{"/proc", "proc", ""},
		{"/dev", "tmpfs", "mode=755"},
		{"/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=620"},
		{"/dev/shm", "tmpfs", "mode=1777,size=64m"},
	} {
		if err := os.MkdirAll(m.target, 0o755); err != nil { //nolint:gosec // Another user looks into it.
			return err
		}
		if err := mount(m.kind, m.target, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.data); err != nil {
			return err
		}
	}
	for _, d := range []string{"null", "zero", "full", "random", "urandom"} {
		if err := bind(outside+"/dev/"+d, "/dev/"+d, false); err != nil {
			return err
		}
	}
	for link, to := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, "/dev/"+link); err != nil {
			return err
		}
	}
	return nil
}

// bind a file or a directory to a path, which is made if it is not there.
func bind(source, target string, readOnly bool) error {
	st, err := os.Stat(source)
	if err != nil {
		return err
	}
	if err := point(target, st.IsDir()); err != nil {
		return err
	}
	if err := mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || !readOnly {
		return err
	}
	// What the mount had must stay in a user namespace.
	fs := unix.Statfs_t{}
	if err := unix.Statfs(target, &fs); err != nil {
		return err
	}
	flags := uintptr(fs.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC) //nolint:gosec // They are flags.
	return mount("", target, "", flags|unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// point to mount something at.
func point(path string, dir bool) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(path, 0o755) //nolint:gosec // Another user looks into it.
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // Another user looks into it.
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}

func mount(source, target, kind string, flags uintptr, data string) error {
	return errors.Wrapf(unix.Mount(source, target, kind, flags, data), "cannot mount %q at %q", source, target)
}

// drop all privileges, for good.
func drop(s Spec) error {
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_READ, c, 0, 0, 0) == nil; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return errors.Wrap(err, "cannot drop capabilities")
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return errors.Wrap(err, "cannot drop capabilities")
	}
	if os.Getuid() != s.User {
		if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(s.Group, s.Group, s.Group), unix.Setresuid(s.User, s.User, s.User)); err != nil {
			return errors.Wrap(err, "cannot become another user")
		}
	}
	return errors.Wrap(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "cannot give up privileges")
}

// lookPath of the command.
func lookPath(s Spec) (string, error) {
	for _, e := range s.Env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			if err := os.Setenv("PATH", path); err != nil {
				return "", err
			}
		}
	}
	return exec.LookPath(s.Argv[0])
}
