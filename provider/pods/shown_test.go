package pods

import (
	"testing"

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
