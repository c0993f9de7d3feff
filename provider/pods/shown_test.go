package pods

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// TestShown is what a hostile image writes into its log.
func TestShown(t *testing.T) {
	s := &shown{}
	s.again()
	s.log.Load().Add([]byte("ok: correct horse \x1b[2J"))

	if got := s.read(); got != "" {
		t.Errorf("Nothing should be shown before the secrets are known, got %q", got)
	}

	s.know(inputs.Inputs{Credentials: []inputs.File{{Name: "password", Data: []byte("correct horse"), Secret: true}}}, nil)

	if got := s.read(); got != "ok: ********\n" {
		t.Errorf("Secrets should be masked, and a terminal should obey nothing, got %q", got)
	}

	s.log.Load().Add([]byte("ok: battery staple, and db.example.org"))
	s.know(inputs.Inputs{}, map[string][]byte{"password": []byte("battery staple"), "all": []byte(`{"host": "db.example.org"}`)})

	if got := s.read(); got != "ok: correct horse\nok: ********, and ********\n" {
		t.Errorf("So should connection details once they are known, got %q", got)
	}
}

// TestShownEnd has a log that is longer than what is kept of it.
func TestShownEnd(t *testing.T) {
	s := &shown{}
	s.again()
	s.know(inputs.Inputs{}, nil)

	for n := range 100_000 {
		s.log.Load().Add(fmt.Appendf(nil, "\x1b[31mline %d\x1b[0m", n))
	}

	s.log.Load().Add(bytes.Repeat([]byte("x"), 10<<20))
	s.log.Load().Add([]byte("the end"))

	got := s.read()
	if len(got) > events.MaxTail || !strings.HasPrefix(got, "…\n") || !strings.HasSuffix(got, "\nthe end\n") || strings.Contains(got, "\x1b") {
		t.Errorf("The end of the log should be kept, got %d bytes: %.20q … %q", len(got), got, got[len(got)-20:])
	}
}
