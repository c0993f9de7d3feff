package security

import (
	"testing"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/confine"
)

// BenchmarkConfinement plays the same with and without confinement in turns, and
// compares how long that takes.
func BenchmarkConfinement(b *testing.B) {
	const tasks = `
  - ansible.builtin.command: "true"
  - {ansible.builtin.debug: {msg: "{{ item }}"}, loop: "{{ range(20) | list }}"}
  - ansible.builtin.set_stats: {data: {done: true}}
`

	off, _ := newRunner(b, confine.Off)
	confined, _ := newRunner(b, confine.Required)

	// The first round warms up: files are read, Python compiles.
	play(b, off, tasks)
	play(b, confined, tasks)

	var without, with time.Duration

	for b.Loop() {
		began := time.Now()

		play(b, off, tasks)

		turn := time.Now()

		play(b, confined, tasks)

		without += turn.Sub(began)
		with += time.Since(turn)
	}

	b.ReportMetric(without.Seconds()*1000/float64(b.N), "ms/unconfined")
	b.ReportMetric(with.Seconds()*1000/float64(b.N), "ms/confined")
	b.ReportMetric(with.Seconds()/without.Seconds(), "ratio")
}
