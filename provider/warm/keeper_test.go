package warm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// kept is a program in the place of Python.
const kept = `#!/bin/sh
printf ready >&3

while [ -d "$3" ]; do
	sleep 0.02
done
`

// A place is where processes are kept.
type place struct {
	options Options
	// made are the directories of processes, and logged is what was odd.
	made   []string
	logged []error
}

func newPlace(t *testing.T) *place {
	t.Helper()

	python := filepath.Join(t.TempDir(), "python")

	needs.OK(t, os.WriteFile(python, []byte(kept), 0o700))

	p := &place{}
	p.options = Options{
		Python: python, Playbook: "ansible-playbook",
		Make: func() (string, []string, error) {
			p.made = append(p.made, t.TempDir())

			return p.made[len(p.made)-1], os.Environ(), nil
		},
		Log: func(err error) { p.logged = append(p.logged, err) },
	}

	return p
}

// left are the directories that are left.
func (p *place) left() []string {
	return slices.DeleteFunc(slices.Clone(p.made), func(dir string) bool {
		_, err := os.Stat(dir)

		return err != nil
	})
}

// TestKeeperClose leaves nothing.
func TestKeeperClose(t *testing.T) {
	p := newPlace(t)
	k := New(p.options)

	needs.OK(t, k.Wait(t.Context()))

	k.Close()

	if len(p.made) != 1 || len(p.left()) > 0 || len(p.logged) > 0 {
		t.Errorf("Want a process that has ended and nothing odd, got %v, of which %v are left, and %v", p.made, p.left(), p.logged)
	}
}

// TestKeeperForkFails forks runs from a process that does not answer.
func TestKeeperForkFails(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		lose   func(p *process)
		want   string
	}{
		"Ended": {
			reason: "A process that has ended is replaced at once.",
			lose:   func(p *process) { p.end(); <-p.ended },
			want:   Starting,
		},
		"Slow": {
			reason: "Where a process is slow, starting another would make all slower.",
			lose:   func(p *process) { p.patience = time.Millisecond },
			want:   Failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			k := New(p.options)
			t.Cleanup(k.Close)

			needs.OK(t, k.Wait(t.Context()))

			s, _ := k.Starter()

			tc.lose(k.process)

			for range 2 {
				if _, err := s.Start(supervisor.Command{Argv: []string{"/bin/true"}}); err == nil {
					t.Errorf("\n%s\nStart(...): want an error", tc.reason)
				}
			}

			if s, cold := k.Starter(); s != nil || cold != tc.want {
				t.Errorf("\n%s\nStarter(): want no start, %q, got %v, %q", tc.reason, tc.want, s, cold)
			}
		})
	}
}
