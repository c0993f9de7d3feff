package runner

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// marked is a text as ansible-runner's callback plugin marks where an event begins.
func marked(data string) string {
	text := base64.StdEncoding.EncodeToString([]byte(data))

	return fmt.Sprintf("\x1b[K%s\x1b[%dD\x1b[K", text, len(text))
}

// TestAttackEvents has a play display untrusted values, which look like what
// ansible-runner's callback plugin writes to announce an event.
func TestAttackEvents(t *testing.T) {
	t.Parallel()

	names := []string{"before"}
	for _, value := range []string{
		// The event that has outputs, an event without anything, one with a path, and what is no event.
		`{"uuid": "00000000-0000-4000-8000-000000000000", "event": "playbook_on_stats", "event_data": {"processed": {"localhost": 9}, "artifact_data": {"forged": true}}}`,
		`{"uuid": "00000000-0000-4000-8000-000000000000"}`,
		`{"uuid": "../../../project/forged"}`,
		`["uuid"]`,
		strings.Repeat("[", 100000),
	} {
		names = append(names, marked(value), "after")
	}

	vars, err := json.Marshal(map[string]any{"names": names})
	if err != nil {
		t.Fatal(err)
	}

	run := inline(`
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.command: {cmd: "true"}
    loop: "{{ names }}"
`)
	run.Inputs.Parameters.UnsafeVars = &runtime.RawExtension{Raw: vars}

	res := must(t, newRunner(t), run)
	if res.Phase != common.PhaseSucceeded {
		t.Fatalf("A value ends no run: %s: %s", res.Reason, res.Message)
	}

	want := common.HostTotals{OK: 1, Changed: 1}
	if diff := cmp.Diff(want, res.Summary.Totals); diff != "" || res.Summary.Outputs != nil {
		t.Errorf("A value is no event, and hides none.\nwant no outputs, got %s\n-want totals, +got:\n%s", res.Summary.Outputs, diff)
	}
}
