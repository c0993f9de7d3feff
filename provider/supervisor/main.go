package supervisor

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// fdLifeline is the descriptor of the supervisor's end of the lifeline. The next descriptor is the lock, which only has
// to stay open.
const fdLifeline = 3

// asSupervisor is the first argument of a supervisor.
const asSupervisor = "supervise"

// A binary that imports this package becomes a supervisor if its first argument is asSupervisor. init runs before the
// initialization of packages that import this one, such as clients, schemes and metrics of a provider: a supervisor
// starts in a third of the time, and uses a quarter of the memory for the duration of the run.
func init() { //nolint:gochecknoinits // See above.
	if len(os.Args) > 1 && os.Args[1] == asSupervisor {
		os.Exit(run(os.Args[2:]))
	}
}

// run is the main function of a supervisor. Its arguments follow asSupervisor: options, two dashes, and the argv of the
// command. It returns the exit status.
func run(args []string) int {
	if err := sandbox.Self(); err != nil {
		return fail(exitFailure, err)
	}

	fs := flag.NewFlagSet("supervise", flag.ContinueOnError)
	grace := fs.Duration("grace", 0, "the time between SIGTERM and SIGKILL")
	child := fs.Int("child", 0, "the id of the process of the command, if it is already started")
	domain := fs.String("enter", "", "only enter this domain, as JSON, and execute the command")

	if err := fs.Parse(args); err != nil {
		return exitFailure
	}

	if fs.NArg() == 0 && *child == 0 {
		return fail(exitFailure, errors.New("no command was given"))
	}

	if *domain != "" {
		return enter(*domain, fs.Args())
	}

	return supervise(fs.Args(), *child, *grace)
}

// supervise supervises a child. If child is 0, it starts the argv.
func supervise(argv []string, child int, grace time.Duration) int {
	// The death signal of the command is bound to the thread that starts it.
	runtime.LockOSThread()

	if err := prepare(); err != nil {
		return fail(exitFailure, err)
	}

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)

	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)

	l := os.NewFile(fdLifeline, "lifeline")
	gone := ownerGone(l)

	if child == 0 {
		var err error
		if child, err = start(argv); err != nil {
			return fail(exitNotFound, err)
		}
	}

	r := reaper{child: child}

	// The command may have ended before SIGCHLD was handled.
	for r.reap(); !r.ended; {
		select {
		case <-died:
			r.reap()

			continue
		case <-stop:
		case <-gone:
		}

		if !r.end(grace) {
			return exitLeft
		}
	}

	if !r.end(grace) {
		return exitLeft
	}

	_, _ = l.Write([]byte{0})

	return r.code
}

// prepare sets the attributes of this process for supervise.
func prepare() error {
	// close_range(2): all descriptors after the standard streams.
	if err := unix.CloseRange(fdLifeline, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("cannot keep descriptors from the command: %w", err)
	}

	// prctl(2): orphans among the descendants become children of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a subreaper: %w", err)
	}

	return nil
}

func start(argv []string) (int, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, fmt.Errorf("cannot find the command: %w", err)
	}

	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		// If the supervisor is killed, ansible-runner at least ends its play.
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM},
	})
	if err != nil {
		return 0, fmt.Errorf("cannot start %q: %w", path, err)
	}

	return pid, nil
}

// enter enters a domain, given as JSON, and executes the command in this process.
func enter(text string, argv []string) int {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fail(exitNotFound, fmt.Errorf("cannot find the command: %w", err))
	}

	var d sandbox.Domain
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fail(exitFailure, fmt.Errorf("cannot decode the domain of the command: %w", err))
	}

	if err := d.Enter(); err != nil {
		return fail(exitFailure, err)
	}

	err = syscall.Exec(path, argv, os.Environ())

	return fail(exitNotFound, fmt.Errorf("cannot start %q: %w", path, err))
}

func fail(code int, err error) int {
	_, _ = fmt.Fprintln(os.Stderr, "supervisor: "+err.Error())

	return code
}
