package controlplane

import (
	"time"

	"github.com/prometheus/procfs"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Usage is what a process has used since it started.
type Usage struct {
	// CPU is the CPU time of the process and its descendants.
	CPU time.Duration

	// Resident is the memory in use by the process, in bytes.
	Resident uint64
}

// Usage of the main process of the piece, which must be running.
func (p *Piece) Usage() (Usage, error) {
	main, below, err := p.descendants()
	if err != nil {
		return Usage{}, err
	}
	stat, err := main.Stat()
	if err != nil {
		return Usage{}, errors.Wrap(err, "cannot read CPU time")
	}
	status, err := main.NewStatus()
	if err != nil {
		return Usage{}, errors.Wrap(err, "cannot read memory")
	}
	u := Usage{CPU: used(stat), Resident: status.VmRSS}
	for _, c := range below {
		// One that has ended meanwhile counts with its parent.
		if s, err := c.Stat(); err == nil {
			u.CPU += used(s)
		}
	}
	return u, nil
}

// used is the CPU time of a process and of its children that have ended. The kernel counts the latter in hundredths of
// seconds.
func used(s procfs.ProcStat) time.Duration {
	return time.Duration(s.CPUTime()*float64(time.Second)) + time.Duration(s.CUTime+s.CSTime)*time.Second/100
}

// Descendants of the main process that have not ended, and their memory in bytes. What several of them
// share counts once.
func (p *Piece) Descendants() (n int, memory uint64, err error) {
	_, below, err := p.descendants()
	for _, c := range below {
		if m, err := c.ProcSMapsRollup(); err == nil { // Otherwise it has ended.
			n++
			memory += m.Pss
		}
	}
	return n, memory, err
}

// descendants of the main process.
func (p *Piece) descendants() (main procfs.Proc, below procfs.Procs, err error) {
	mains, err := p.mains()
	if err != nil || len(mains) == 0 {
		return main, nil, errors.Join(err, errors.Errorf("%s is not running", p.Name))
	}
	all, err := procfs.AllProcs()
	if err != nil {
		return main, nil, errors.Wrap(err, "cannot list processes")
	}
	children := map[int]procfs.Procs{}
	for _, c := range all {
		if stat, err := c.Stat(); err == nil { // Otherwise it has ended.
			children[stat.PPID] = append(children[stat.PPID], c)
		}
	}
	below = children[mains[0].Pid]
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i].PID]...)
	}
	main, err = procfs.NewProc(mains[0].Pid)
	return main, below, errors.Wrap(err, "cannot read a process")
}
