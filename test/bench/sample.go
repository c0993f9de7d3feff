package main

import (
	"os/exec"
	"slices"
	"time"
)

// A sample is what something took.
type sample struct {
	wall, cpu time.Duration
}

// samples of the same thing.
type samples []sample

// median of wall and CPU time, each for itself.
func (s samples) median() sample {
	wall, cpu := make([]time.Duration, len(s)), make([]time.Duration, len(s))
	for i := range s {
		wall[i], cpu[i] = s[i].wall, s[i].cpu
	}
	return sample{median(wall), median(cpu)}
}

// ratio of the wall times of a to those of b, pair by pair, and their median:
// what disturbs the machine disturbs both of a pair.
func ratio(a, b samples) float64 {
	return ratioOf(a, b, func(s sample) time.Duration { return s.wall })
}

// cpuRatio is that of the CPU times.
func cpuRatio(a, b samples) float64 {
	return ratioOf(a, b, func(s sample) time.Duration { return s.cpu })
}

func ratioOf(a, b samples, of func(sample) time.Duration) float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = of(a[i]).Seconds() / of(b[i]).Seconds()
	}
	return median(r)
}

func median[T time.Duration | float64](v []T) T {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// measure a command, its children included.
func measure(cmd *exec.Cmd) (sample, error) {
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start)}
	if cmd.ProcessState != nil {
		s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return s, err
}
