package controlplane

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// TestMain lets the tests start this program as a piece.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "piece" {
		piece(os.Args[2])
	}
	os.Exit(m.Run())
}

// piece says that it is ready by making a file.
func piece(how string) {
	switch how {
	case "Fails":
		os.Exit(1)
	case "Stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "Parent":
		// A child of the same piece that does not care for its parent.
		cmd := exec.Command("sleep", "3600")
		if err := cmd.Start(); err != nil {
			os.Exit(1)
		}
	}
	if err := os.WriteFile(how, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		os.Exit(1)
	}
	time.Sleep(time.Hour)
}

func testPiece(t *testing.T, how string) *Piece {
	t.Helper()
	dir := t.TempDir()
	p := &Piece{
		Name:  "piece",
		Log:   filepath.Join(dir, "piece.log"),
		stack: dir,
		path:  os.Args[0],
		args:  []string{"piece", how},
		env:   []string{"PATH=" + os.Getenv("PATH")},
		ready: func(context.Context) error {
			_, err := os.Stat(filepath.Join(dir, how))
			return errors.Wrap(err, "not ready")
		},
	}
	t.Cleanup(func() {
		ps, err := p.processes()
		if err != nil {
			t.Error(err)
		}
		if err := end(context.Background(), ps, 0); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestStart(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   string
	}{
		"Obedient": {
			reason: "A piece that becomes ready should be running.",
		},
		"Fails": {
			reason: "A piece that ends should be reported at once, not when the time is over.",
			want:   "piece ended before it was ready",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := testPiece(t, name)
			got := ""
			if err := p.Start(t.Context()); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nStart(...): -want, +got:\n%s", tc.reason, diff)
			}
			running, err := p.Running()
			if diff := cmp.Diff(tc.want == "", running); diff != "" {
				t.Errorf("\n%s\nRunning(): -want, +got:\n%s", tc.reason, diff)
			}
			if err != nil {
				t.Errorf("Running(): %s", err)
			}
		})
	}
}

func TestStop(t *testing.T) {
	cases := map[string]struct {
		reason string
		stop   func(*Piece, context.Context) error
	}{
		"Obedient": {
			reason: "A piece should end when it is asked to.",
			stop:   (*Piece).Stop,
		},
		"Parent": {
			reason: "What a piece leaves behind should be stopped too.",
			stop:   (*Piece).Stop,
		},
		"Stubborn": {
			reason: "Killing should not ask.",
			stop:   (*Piece).Kill,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := testPiece(t, name)
			if err := p.Start(t.Context()); err != nil {
				t.Fatalf("Start(...): %s", err)
			}
			if err := tc.stop(p, t.Context()); err != nil {
				t.Errorf("\n%s\nunexpected error: %s", tc.reason, err)
			}
			ps, err := p.processes()
			if err != nil {
				t.Errorf("processes(): %s", err)
			}
			if diff := cmp.Diff(0, len(ps)); diff != "" {
				t.Errorf("\n%s\nprocesses left: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKill(t *testing.T) {
	p := testPiece(t, "Parent")
	if err := p.Start(t.Context()); err != nil {
		t.Fatalf("Start(...): %s", err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatalf("Kill(...): %s", err)
	}
	ps, err := p.processes()
	if err != nil {
		t.Fatalf("processes(): %s", err)
	}
	got := ""
	for _, m := range ps {
		got += strings.Join(m.args, " ")
	}
	if diff := cmp.Diff("sleep 3600", got); diff != "" {
		t.Errorf("\nOnly the main process should be killed, and only it should keep the piece from starting.\n-want, +got:\n%s", diff)
	}
	if err := os.Remove(filepath.Join(p.stack, "Parent")); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err != nil {
		t.Errorf("Start(...): %s", err)
	}
}

func TestEnsure(t *testing.T) {
	p := testPiece(t, "Obedient")
	changed := *p
	changed.args = []string{"piece", "Obedient", "--flag"}

	steps := []struct {
		reason string
		piece  *Piece
		want   outcome
	}{
		{reason: "What is not running should be started.", piece: p, want: outcomeStarted},
		{reason: "What is running should be left alone.", piece: p, want: outcomeRunning},
		{reason: "What runs with other flags should be restarted.", piece: &changed, want: outcomeRestarted},
	}
	for _, s := range steps {
		got, err := s.piece.ensure(t.Context())
		if err != nil {
			t.Fatalf("\n%s\nensure(...): %s", s.reason, err)
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("\n%s\nensure(...): -want, +got:\n%s", s.reason, diff)
		}
	}
}

func TestParent(t *testing.T) {
	cases := map[string]struct {
		reason string
		stat   string
		want   int
	}{
		"Usual": {
			reason: "The parent should be the second field after the name.",
			stat:   "42 (sleep) S 7 42 42 0",
			want:   7,
		},
		"Parentheses": {
			reason: "A name with parentheses and spaces should not matter.",
			stat:   "42 (a) S 1 (b) R 7 42 42 0",
			want:   7,
		},
		"Empty": {
			reason: "Without a parent it should be nobody.",
			want:   0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parent([]byte(tc.stat))); diff != "" {
				t.Errorf("\n%s\nparent(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
