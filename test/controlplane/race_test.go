package controlplane

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestRaces(t *testing.T) {
	if !detecting {
		needs.Machinef(t, "This needs the race detector, and that a C compiler.")
	}

	for how, want := range map[string]string{"Racy": "controlplane.race", "Quiet": ""} {
		t.Run(how, func(t *testing.T) {
			p := testPiece(t, how)
			s := &Stack{opts: Options{Logs: filepath.Join(t.TempDir(), "logs [1]")}}
			p.env = append(p.env, s.detector(p.Name))
			p.Log = s.log(p.Name)

			if err := p.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			// What is killed cannot say anything more.
			if err := p.Kill(context.Background()); err != nil {
				t.Fatal(err)
			}

			err := s.Races()
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("Races(): got %v, want an error with %q", err, want)
			}
		})
	}
}

// race without having an effect.
func race() {
	var wg sync.WaitGroup

	n := 0
	for range 2 {
		wg.Go(func() { n++ })
	}

	wg.Wait()
}
