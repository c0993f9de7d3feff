package events

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// FuzzRecorder reads arbitrary streams.
func FuzzRecorder(f *testing.F) {
	const secret = "hunter2hunter2"

	secrets := redact.New(redact.InFile(secret, redact.Source{}))

	files, err := filepath.Glob(filepath.Join("testdata", "*.json*"))
	needs.OK(f, err)

	// The seeds are one event of each kind.
	seen := map[string]bool{}

	for _, file := range files {
		text, err := os.ReadFile(file)
		needs.OK(f, err)

		for line := range strings.Lines(string(text)) {
			e, ok := parse([]byte(line))
			if ok && !seen[e.Kind] && len(line) < 4<<10 {
				f.Add([]byte(line), uint8(7))
			}

			seen[e.Kind] = true
		}
	}

	for _, line := range []string{
		`{"uuid": "u", "event": "runner_on_failed", "event_data": {"host": "hunter2hunter2", "task": "hunter2hunter2", "res": {"msg": ["hunter2hunter2", {"a": 1}], "results": [{"failed": true, "_ansible_item_label": "hunter2hunter2"}]}}}`,
		`{"uuid": "u", "event": "runner_on_ok", "event_data": {"resolved_action": "crossplane.ansible.status", "res": {"reported": true, "outputs": {"hunter2hunter2": 1}, "conditions": [{"type": "hunter2hunter2", "status": "hunter2hunter2", "reason": "x"}]}}}`,
		`{"uuid": "u", "event": "playbook_on_stats", "event_data": {"processed": {"hunter2hunter2": 1}, "failures": {"a": 1}, "artifact_data": {"a": "hunter22\nhunter22", "connection_details": {"b": "c"}}}}`,
		"[WARNING]: hunter2hunter2\n[ERROR]: hunter22\n  hunter22",
	} {
		f.Add([]byte(line+"\n"+line), uint8(3))
	}

	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		r := NewRecorder(Options{Secrets: secrets, Tail: true, Hidden: []string{"/run/"}})

		for from := 0; from < len(stream); from += int(size) + 1 {
			if _, err := r.Stdout().Write(stream[from:min(len(stream), from+int(size)+1)]); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := r.Stderr().Write(stream); err != nil {
			t.Fatal(err)
		}

		r.Close()

		if err := r.Err(); err != nil {
			t.Fatalf("%q: %v", stream, err)
		}

		s := r.Summary()
		s.ConnectionDetails = nil

		text, err := json.Marshal(s) //nolint:musttag // The text is only searched.
		if err != nil {
			t.Fatalf("A summary of %q cannot be shown: %v", stream, err)
		}

		all := strings.Join([]string{string(text), r.Text(), r.Warnings(), r.Tail()}, "\n")
		if strings.Contains(all, secret) {
			t.Errorf("The record of %q has the secret:\n%s", stream, all)
		}

		if len(s.Failures) > MaxFailures || len(s.Changed) > MaxChanged || len(s.Report.Conditions) > MaxConditions ||
			len(r.Text()) > maxMessage || len(r.Warnings()) > maxMessage || len(r.Tail()) > MaxTail || len(s.Outputs) > MaxOutputs {
			t.Errorf("The record of %q is too large:\n%s", stream, all)
		}

		for _, f := range s.Failures {
			if len(f.Message) > maxMessage || len(f.Task) > MaxName || len(f.Host) > MaxName {
				t.Errorf("The record of a failure in %q is too large: %v", stream, f)
			}
		}
	})
}
