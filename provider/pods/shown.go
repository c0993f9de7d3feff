package pods

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// shown is what the log of a Pod has shown so far, other than its reports.
type shown struct {
	events.LogTail

	// mask redacts it; nil before the inputs of the run are known.
	mask atomic.Pointer[func() redact.Redactor]
	// watched is true once somebody has read it.
	watched atomic.Bool
}

// know the secrets of the inputs.
func (s *shown) know(in inputs.Inputs) {
	mask := sync.OnceValue(func() redact.Redactor { return redact.New(slices.Concat(in.Secrets(), in.Vaulted())...) })

	s.mask.Store(&mask)
}

// read the end of it. The Pod redacts what a play displays; its image may write anything.
func (s *shown) read() string {
	s.watched.Store(true)

	mask := s.mask.Load()
	if mask == nil {
		return ""
	}

	return (*mask)().String(s.Text())
}
