package security

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// BenchmarkConfinement plays the same with and without confinement in turns, and
// compares how long that takes, and how much of a processor, which depends less on
// what else the machine does.
func BenchmarkConfinement(b *testing.B) {
	off, _ := newRunner(b, sandbox.Off, cold)
	confined, _ := newRunner(b, sandbox.Required, cold)

	// The first round warms up: files are read, Python compiles.
	measure(b, off)
	measure(b, confined)

	var without, with cost

	for b.Loop() {
		without.add(measure(b, off))
		with.add(measure(b, confined))
	}

	n := float64(b.N)
	b.ReportMetric(without.elapsed.Seconds()*1000/n, "ms/unconfined")
	b.ReportMetric(with.elapsed.Seconds()*1000/n, "ms/confined")
	b.ReportMetric(with.elapsed.Seconds()/without.elapsed.Seconds(), "ratio")
	b.ReportMetric(without.processor.Seconds()*1000/n, "cpu-ms/unconfined")
	b.ReportMetric(with.processor.Seconds()*1000/n, "cpu-ms/confined")
	b.ReportMetric(with.processor.Seconds()/without.processor.Seconds(), "cpu-ratio")
}

// A cost is what a run has taken, with all that it started.
type cost struct{ elapsed, processor time.Duration }

func (c *cost) add(o cost) {
	c.elapsed += o.elapsed
	c.processor += o.processor
}

// measure a run.
func measure(b *testing.B, r *runner.Runner) cost {
	b.Helper()

	const tasks = `
  - ansible.builtin.command: "true"
  - {ansible.builtin.debug: {msg: "{{ item }}"}, loop: "{{ range(20) | list }}"}
  - ansible.builtin.set_stats: {data: {done: true}}
`

	began, used := time.Now(), processor(b)

	play(b, r, tasks)

	return cost{elapsed: time.Since(began), processor: processor(b) - used}
}

// processor time of all processes that have ended.
func processor(b *testing.B) time.Duration {
	b.Helper()

	var u unix.Rusage
	needs.OK(b, unix.Getrusage(unix.RUSAGE_CHILDREN, &u))

	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
