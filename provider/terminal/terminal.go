// Package terminal shows the progress of a run on this machine to a person, and its result to a program.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// maxShown is the number of characters of a line that are shown by default.
const maxShown = 2000

// A Terminal shows one run.
type Terminal struct {
	mu sync.Mutex
	w  io.Writer
	// out gets the result as JSON; nil if the result is text.
	out   io.Writer
	play  *play.Writer
	phase common.RunPhase
}

// New returns a terminal for a run. The text goes to out or, if out gets the result as JSON, to errs. Whole shows long
// lines completely.
func New(out, errs io.Writer, asJSON, whole bool) *Terminal {
	t := &Terminal{w: out}
	if asJSON {
		t.w, t.out = errs, out
	}

	s := play.StyleOf(t.w)
	if !whole {
		s.Most = maxShown
	}

	t.play = play.NewWriter(t.w, s)

	return t
}

// Progress announces the installation of the content.
func (t *Terminal) Progress(r runs.Report) {
	if r.Run.Phase == common.PhaseInstalling && t.phase != r.Run.Phase {
		t.Printf("Installing the content")
	}

	t.phase = r.Run.Phase
}

// Display shows Ansible's output.
func (t *Terminal) Display(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()

	_ = t.play.Show(text) // There is no other place for an error.
}

// A result is the result of a run for programs. Its fields are those of status.atProvider.
type result struct {
	LastRun common.Run            `json:"lastRun"`
	Content *common.Content       `json:"content,omitempty"`
	Outputs *apiextensionsv1.JSON `json:"outputs,omitempty"`
	// Withheld has the outputs that contain secrets.
	Withheld   common.Withheld  `json:"withheldOutputs,omitempty"`
	Conditions []xpv2.Condition `json:"conditions,omitempty"`
	// Changed has the first tasks that changed something or, in a check, would have.
	Changed []common.DriftTask `json:"changed,omitempty"`
}

// End shows the result, and returns an error unless the run succeeded. Failures of tasks were already displayed.
func (t *Terminal) End(r runs.Report) error {
	for _, c := range r.Reported.Conditions {
		t.Printf("condition: %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}

	if r.Outputs != nil {
		if text, err := yaml.JSONToYAML(r.Outputs.Raw); err == nil {
			t.Printf("outputs:\n  %s", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
		}
	}

	if len(r.Withheld) > 0 {
		t.Printf("withheld: %s", common.OutputsWithheld(r.Withheld, nil).Message)
	}

	if t.out != nil {
		e := json.NewEncoder(t.out)
		e.SetIndent("", "  ")

		res := result{r.Run, r.Content, r.Outputs, r.Withheld, r.Reported.Conditions, r.Changed}
		if r.Content != nil && r.Content.Digest == "" {
			res.Content = nil // There were no requirements.
		}

		if err := e.Encode(res); err != nil {
			return errors.Wrap(err, "cannot write the result")
		}
	}

	if r.Run.Phase == common.PhaseSucceeded {
		if r.Run.Message != "" {
			t.Printf("%s", r.Run.Message)
		}

		return nil
	}

	lines := strings.Split(r.Run.Reason+": "+r.Run.Message, "\n")
	for i, line := range lines {
		lines[i] = play.Escaped(line)
	}

	return errors.New(strings.Join(lines, "\n"))
}

// Printf shows a formatted text with control characters escaped.
func (t *Terminal) Printf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()

	for line := range strings.Lines(fmt.Sprintf(format, args...) + "\n") {
		fmt.Fprintln(t.w, play.Escaped(strings.TrimSuffix(line, "\n"))) //nolint:errcheck // There is no other place for an error.
	}
}
