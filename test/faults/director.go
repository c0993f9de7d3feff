package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

// Moods of the tool that stands before ansible-runner, see toolScript. The last
// ones are carried out here: the process is killed once its play has begun, as
// the kernel does when there is no memory left.
const (
	moodWell   = "well"
	moodHang   = "hang"
	moodDeaf   = "deaf"
	moodDaemon = "daemon"
	moodFlood  = "flood"
	moodBroken = "broken"

	moodKillRunner     = "kill-ansible-runner"
	moodKillPlay       = "kill-ansible-playbook"
	moodKillSupervisor = "kill-supervisor"
	moodOrphan         = "kill-supervisor-of-a-daemon"
)

// A director says how plays, and the tools that run them, behave.
type director struct {
	traps *trap.Set

	mu        sync.Mutex
	rng       *rand.Rand
	moods     map[string]chan<- string
	ways      map[string]way
	faultless bool
	// dirs of runs, by their ids.
	dirs map[string]string
	// unsupervised are the directories of runs with supervisors that were killed.
	unsupervised []string
}

// A way in which the plays of an object behave.
type way struct {
	// least and most time that they take.
	least, most time.Duration
	// fails is the share of the plays that fail, of those with state present.
	// Hopeless ones always fail, also without faults.
	fails    float64
	hopeless bool
}

func newDirector(traps *trap.Set, rng *rand.Rand) *director {
	return &director{
		traps: traps, rng: rng, moods: map[string]chan<- string{}, dirs: map[string]string{},
		ways: map[string]way{},
	}
}

// behave says how the plays of an object behave from now on.
func (d *director) behave(uid string, w way) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.ways[uid] = w
}

// setFaultless has all plays and tools work without faults from now on, or not.
func (d *director) setFaultless(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.faultless = on
	if on {
		clear(d.moods)
	}
}

// next tool that starts is in a mood. The channel has the id of its run.
func (d *director) next(mood string) <-chan string {
	d.mu.Lock()
	defer d.mu.Unlock()

	c := make(chan string, 1)
	d.moods[mood] = c

	return c
}

// forget a mood that no tool was in.
func (d *director) forget(mood string) {
	d.mu.Lock()
	defer d.mu.Unlock()

	delete(d.moods, mood)
}

// Tool is in a mood.
func (d *director) Tool(ctx context.Context, id, dir string) string {
	d.mu.Lock()
	d.dirs[id] = dir
	d.mu.Unlock()

	d.traps.Pass(ctx, trap.Event{Kind: trap.ToolStarted, RunID: id})

	mood := d.mood(id)

	is, kills := victims()[mood]
	if !kills {
		return mood
	}

	if mood != moodKillRunner && mood != moodKillPlay {
		d.mu.Lock()
		d.unsupervised = append(d.unsupervised, dir)
		d.mu.Unlock()
	}

	go kill(dir, is)

	if mood == moodOrphan {
		return moodDaemon
	}

	return moodWell
}

// victims of moods, by their command lines.
func victims() map[string]func(args string) bool {
	supervises := func(args string) bool { return strings.Contains(args, "\x00supervise\x00") }
	runner := func(args string) bool {
		return strings.Contains(args, "/driver.py\x00") && !supervises(args)
	}

	return map[string]func(string) bool{
		moodKillRunner:     runner,
		moodKillPlay:       isPlay,
		moodKillSupervisor: supervises,
		moodOrphan:         supervises,
	}
}

func isPlay(args string) bool {
	return strings.Contains(args, "/ansible-playbook\x00") && !strings.Contains(args, "\x00supervise\x00")
}

func (d *director) mood(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()

	for _, m := range sorted(d.moods) {
		d.moods[m] <- id
		delete(d.moods, m)

		return m
	}

	return moodWell
}

// kill a process of a run once its play has begun.
func kill(dir string, is func(args string) bool) {
	for range 300 {
		time.Sleep(50 * time.Millisecond)

		all := commands(dir)
		if !slices.ContainsFunc(all, func(p process) bool { return isPlay(string(p.args)) }) {
			continue
		}

		for _, c := range all {
			if !is(string(c.args)) {
				continue
			}

			if p, err := os.FindProcess(c.pid); err == nil && p.Signal(syscall.SIGKILL) == nil {
				return
			}
		}
	}
}

// Play for as long as its object's plays do.
func (d *director) Play(ctx context.Context, r ledger.Run) (fail bool) {
	d.traps.Pass(ctx, trap.Event{Kind: trap.PlayBegan, UID: r.UID, RunID: r.ID, Mode: r.Mode, State: r.State})

	d.mu.Lock()
	w := d.ways[r.UID]
	took := w.least + time.Duration(d.rng.Int64N(int64(w.most-w.least)+1))
	fail = w.hopeless && r.State == ledger.StatePresent

	switch {
	case d.faultless:
		took = min(took, 100*time.Millisecond)
	case r.State == ledger.StatePresent || d.rng.IntN(2) == 0:
		fail = fail || d.rng.Float64() < w.fails
	}
	d.mu.Unlock()

	select {
	case <-time.After(took):
	case <-ctx.Done():
	}

	return fail
}

// endContainer ends what killed supervisors have left, as the kernel does when the first process
// of a container was killed.
func (d *director) endContainer(state string) {
	d.mu.Lock()
	dirs := slices.Clone(d.unsupervised)
	d.mu.Unlock()

	for _, dir := range dirs {
		if strings.HasPrefix(dir, state+"/") {
			supervisor.EndLeft(dir + "/")
		}
	}
}

// Left are the processes of runs.
func (d *director) Left(ids ...string) []string {
	d.mu.Lock()

	var dirs []string

	for _, id := range ids {
		if dir := d.dirs[id]; dir != "" {
			dirs = append(dirs, dir)
		}
	}

	d.mu.Unlock()

	var out []string

	for _, p := range processes(func(of []byte) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return bytes.Contains(of, []byte(dir+"/")) })
	}) {
		out = append(out, p.String())
	}

	return out
}

// A process that was found.
type process struct {
	pid  int
	args []byte
}

func (p process) String() string {
	return strconv.Itoa(p.pid) + " " + string(bytes.TrimSpace(bytes.ReplaceAll(p.args, []byte{0}, []byte{' '})))
}

// processes with an environment and arguments as wanted. Those that have ended have none.
func processes(wanted func(of []byte) bool) []process {
	var out []process

	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil {
			continue
		}

		// What was forked has the environment of what it was forked from, and arguments of its own.
		args, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err != nil || len(args) == 0 || !wanted(slices.Concat(env, args)) {
			continue
		}

		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		out = append(out, process{pid, args})
	}

	return out
}

// commands of a run.
func commands(dir string) []process {
	return processes(func(of []byte) bool { return bytes.Contains(of, []byte(dir+"/")) })
}
