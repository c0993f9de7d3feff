package warm

import (
	"context"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// Reasons of cold starts.
const (
	// Starting is the reason while no process is ready yet.
	Starting = "starting"
	// Failed is the reason of a run that could not be forked, and of runs for a time after a process could not be started
	// or was too slow.
	Failed = "failed"
)

const (
	// longestEnvironment is a length that every kernel accepts, in bytes. A run with a longer environment starts cold,
	// where execve may fail.
	longestEnvironment = 64 << 10
	// pause is the time until the next process after one that could not be started or was too slow: the machine may be
	// busy.
	pause = time.Minute
)

// Options of a Keeper.
type Options struct {
	// Python is the path of the interpreter, and Playbook that of ansible-playbook.
	Python, Playbook string
	// Driver of ansible-runner: a Python module. Its main takes the arguments after the module in the argv of a command.
	// Its function start(argv, cwd, env, descriptor) is replaced.
	Driver []byte
	// Make returns a new directory for a process, with the directories home and tmp in it, and the environment of the
	// process.
	Make func() (dir string, env []string, err error)
	// Log reports why runs start cold.
	Log func(error)
}

// A Keeper keeps a process that starts runs. New makes one.
type Keeper struct {
	o Options

	mu       sync.Mutex
	process  *process
	starting bool
	// closed is done when the keeper is closed: then no process exists or is started.
	closed context.Context //nolint:containedctx // Starts go on when the run that wanted them has ended.
	close  context.CancelFunc
	// processes that have not ended yet.
	processes sync.WaitGroup
	// retry is when a process may be started again.
	retry time.Time
}

// New returns a keeper. It starts a process when the first run asks for one.
func New(o Options) *Keeper {
	k := &Keeper{o: o}
	k.closed, k.close = context.WithCancel(context.Background())

	return k
}

// Starter returns a starter of commands that execute the driver, or nil and the reason for a cold start.
func (k *Keeper) Starter() (s supervisor.Starter, cold string) {
	k.mu.Lock()
	defer k.mu.Unlock()

	if k.process != nil {
		return k.process, ""
	}

	if k.starting || k.start() {
		return nil, Starting
	}

	return nil, Failed
}

// start a process, unless that has failed a short time ago.
func (k *Keeper) start() bool {
	if k.closed.Err() != nil || time.Now().Before(k.retry) {
		return false
	}

	k.starting = true

	k.processes.Go(func() {
		p, err := start(k.closed, k)

		k.mu.Lock()

		k.starting = false

		switch {
		case k.closed.Err() != nil: // The end of the context has ended it.
		case err != nil:
			k.retry = time.Now().Add(pause)
			k.o.Log(errors.Wrap(err, "cannot keep a process that has imported Ansible; runs take longer to start"))
		default:
			k.process = p
		}

		k.mu.Unlock()

		if err == nil {
			<-p.ended
			_ = workdir.Remove(p.dir)
		}
	})

	return true
}

// drop a failed process. Another one may start after a pause.
func (k *Keeper) drop(p *process, why error, pause time.Duration) {
	k.o.Log(errors.Wrap(why, "cannot start a run by forking"))

	k.mu.Lock()
	defer k.mu.Unlock()

	if p == k.process {
		p.end()
		k.process = nil
		k.retry = time.Now().Add(pause)
	}
}

// Failed reports a run that failed before it began. Another process is started later.
func (k *Keeper) Failed(s supervisor.Starter, why error) {
	if p, ok := s.(*process); ok {
		k.drop(p, why, pause)
	}
}

// Close ends the process, and waits for its end. Runs in progress go on.
func (k *Keeper) Close() {
	// No process starts after this.
	k.mu.Lock()
	k.close()
	k.process = nil
	k.mu.Unlock()

	k.processes.Wait()
}
