package warm

import (
	"context"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// Reasons of cold starts that a Keeper knows.
const (
	// Starting is for runs before there is a process.
	Starting = "starting"
	// Failed is for a run that could not be forked, and for a time after a process could not be started or was too slow.
	Failed = "failed"
)

const (
	// longestEnvironment is the length of one that every kernel takes, in bytes. A run with a longer
	// one starts cold, and finds out.
	longestEnvironment = 64 << 10
	// pause after a process that could not be started, or that was too slow: the machine may be busy.
	pause = time.Minute
)

// Options of a Keeper.
type Options struct {
	// Python is the path of the interpreter, and Playbook that of ansible-playbook.
	Python, Playbook string
	// Driver of ansible-runner: a Python module. Its main takes what follows the module in the argv of a command, and
	// its start(argv, cwd, env, descriptor) is replaced.
	Driver []byte
	// Make returns a new directory for a process, with a home and a tmp in it, and its environment.
	Make func() (dir string, env []string, err error)
	// Log what is odd.
	Log func(error)
}

// A Keeper keeps a process that starts runs. Use New.
type Keeper struct {
	o Options

	mu       sync.Mutex
	process  *process
	starting bool
	// closed when the keeper is: no process is left then, nor is there another one.
	closed context.Context //nolint:containedctx // Starts go on when the run that wanted them has ended.
	close  context.CancelFunc
	// processes that have not ended yet.
	processes sync.WaitGroup
	// retry is when a process may be started again.
	retry time.Time
}

// New returns a keeper, which starts a process when a run wants one.
func New(o Options) *Keeper {
	k := &Keeper{o: o}
	k.closed, k.close = context.WithCancel(context.Background())

	return k
}

// Starter of commands that execute the driver. If it is nil, the run has to start cold, for a reason.
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

// start a process, unless that has failed not long ago.
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
		case k.closed.Err() != nil: // It has been ended.
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

// drop a process that has failed. Another one is started after a pause.
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

// Failed is told why a run failed before it began. Another process is started later.
func (k *Keeper) Failed(s supervisor.Starter, why error) {
	if p, ok := s.(*process); ok {
		k.drop(p, why, pause)
	}
}

// Close ends the process, and waits for its end. Runs go on.
func (k *Keeper) Close() {
	// No start begins after this one.
	k.mu.Lock()
	k.close()
	k.process = nil
	k.mu.Unlock()

	k.processes.Wait()
}
