package controlplane

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ticks that Linux counts CPU time in for user space, per second: USER_HZ, which
// is the same on all architectures that Go knows.
const ticks = 100

// A Usage is what a process has used since it started.
type Usage struct {
	// Self is the CPU time of the process, Children that of its descendants.
	Self, Children time.Duration

	// Resident is the memory in use, Peak the most that ever was, in bytes.
	Resident, Peak int64
}

// CPU time of the process and of its descendants.
func (u Usage) CPU() time.Duration { return u.Self + u.Children }

// Usage of the main process of the piece, which must be running.
func (p *Piece) Usage() (Usage, error) {
	mains, err := p.mains()
	if err != nil {
		return Usage{}, err
	}
	if len(mains) == 0 {
		return Usage{}, errors.Errorf("%s is not running", p.Name)
	}
	dir := filepath.Join("/proc", strconv.Itoa(mains[0].Pid))

	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Usage{}, errors.Wrap(err, "cannot read CPU time")
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Usage{}, errors.Wrap(err, "cannot read memory")
	}
	u, err := parseUsage(string(stat), string(status))
	if err != nil {
		return u, err
	}
	below, err := descendants(mains[0].Pid)
	for _, pid := range below {
		// One that has ended meanwhile counts with its parent.
		if stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")); err == nil {
			if d, err := parseUsage(string(stat), ""); err == nil {
				u.Children += d.CPU()
			}
		}
	}
	return u, err
}

// Descendants of the main process that have not ended, and their memory in bytes. What several of them
// share counts once.
func (p *Piece) Descendants() (n int, memory int64, err error) {
	mains, err := p.mains()
	if err != nil || len(mains) == 0 {
		return 0, 0, errors.Wrapf(err, "%s is not running", p.Name)
	}
	below, err := descendants(mains[0].Pid)
	for _, pid := range below {
		rollup, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
		if err != nil {
			continue // It has ended.
		}
		n++
		for line := range strings.Lines(string(rollup)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
				k, _ := strconv.ParseInt(fields[1], 10, 64)
				memory += k << 10
			}
		}
	}
	return n, memory, err
}

// descendants of a process.
func descendants(pid int) ([]int, error) {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list processes")
	}
	children := map[int][]int{}
	for _, name := range names {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // It has ended.
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		children[parent(stat)] = append(children[parent(stat)], child)
	}
	var all []int
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		all = append(all, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return all, nil
}

// parseUsage from the files of proc(5).
func parseUsage(stat, status string) (Usage, error) {
	// The name of the process, in parentheses, may contain anything.
	_, rest, ok := strings.Cut(stat[max(strings.LastIndexByte(stat, ')'), 0):], ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 15 {
		return Usage{}, errors.New("cannot parse CPU time")
	}
	u := Usage{}
	for i, d := range []*time.Duration{&u.Self, &u.Self, &u.Children, &u.Children} {
		n, err := strconv.ParseInt(fields[11+i], 10, 64)
		if err != nil {
			return Usage{}, errors.Wrap(err, "cannot parse CPU time")
		}
		*d += time.Duration(n) * time.Second / ticks
	}
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		into := map[string]*int64{"VmRSS": &u.Resident, "VmHWM": &u.Peak}[key]
		if into == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return Usage{}, errors.Wrap(err, "cannot parse memory")
		}
		*into = n << 10
	}
	return u, nil
}
