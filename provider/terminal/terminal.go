// Package terminal shows a person how a run on this machine goes, and a program how it went.
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

// maxShown is how many characters of a line are shown, unless all are to be.
const maxShown = 2000

// A Terminal shows one run.
type Terminal struct {
	mu sync.Mutex
	w  io.Writer
	// out gets the result as JSON, in place of the text; nil for text.
	out   io.Writer
	play  *play.Writer
	phase common.RunPhase
}

// New terminal for a run. The text goes to out or, if that is for the result as JSON, to errs.
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

// Progress of the run.
func (t *Terminal) Progress(r runs.Report) {
	if r.Run.Phase == common.PhaseInstalling && t.phase != r.Run.Phase {
		t.Printf("Installing the content")
	}

	t.phase = r.Run.Phase
}

// Display what Ansible shows.
func (t *Terminal) Display(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()

	_ = t.play.Show(text) // An error can go nowhere else.
}

// A result is how a run went, for programs. Its fields are those of status.atProvider.
type result struct {
	LastRun common.Run            `json:"lastRun"`
	Content *common.Content       `json:"content,omitempty"`
	Outputs *apiextensionsv1.JSON `json:"outputs,omitempty"`
	// Withheld outputs have secrets in them.
	Withheld   common.Withheld  `json:"withheldOutputs,omitempty"`
	Conditions []xpv2.Condition `json:"conditions,omitempty"`
	// Changed are the first tasks that changed something or, in a check, would.
	Changed []common.DriftTask `json:"changed,omitempty"`
}

// End shows the result, and returns an error unless the run succeeded. Failures were displayed.
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
			res.Content = nil // Nothing was required.
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

// Printf shows lines of a text, none of which does anything to a terminal.
func (t *Terminal) Printf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()

	for line := range strings.Lines(fmt.Sprintf(format, args...) + "\n") {
		fmt.Fprintln(t.w, play.Escaped(strings.TrimSuffix(line, "\n"))) //nolint:errcheck // An error can go nowhere else.
	}
}
