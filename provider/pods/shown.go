package pods

import (
	"sync"
	"sync/atomic"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// shown is what the log of a Pod has shown so far, other than its reports.
type shown struct {
	// log that was read since it was begun to be read; nil before.
	log atomic.Pointer[events.LogTail]
	// mask redacts it; nil before the inputs of the run are known.
	mask atomic.Pointer[func() *redact.Set]
	// watched is true once it was read.
	watched atomic.Bool
}

// again begins to read the log.
func (s *shown) again() { s.log.Store(&events.LogTail{}) }

// know the secrets of the inputs, and connection details.
func (s *shown) know(in inputs.Inputs, details map[string][]byte) {
	mask := sync.OnceValue(func() *redact.Set {
		all := in.Secrets()

		for _, detail := range details {
			for _, text := range append(redact.Scalars(detail), string(detail)) {
				all.Add(redact.Secret{Text: text})
			}
		}

		return all
	})

	s.mask.Store(&mask)
}

// read the end of it. The Pod redacts what a play displays; its image may write anything.
func (s *shown) read() string {
	s.watched.Store(true)

	mask, log := s.mask.Load(), s.log.Load()
	if mask == nil || log == nil {
		return ""
	}

	return (*mask)().Text(log.Text())
}
