package events

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// maxStatus is the length of the longest status that is read, with its conditions, in bytes. Decoded, it needs up to a
// hundred times as much memory.
const maxStatus = 1 << 20

// ReportStatus records a change of the status of the XR by the content of a run in progress. The change is a JSON merge
// patch, or replaces the status. Its conditions are recorded as conditions that the content reports. The error says why
// the status cannot be kept.
func (r *Recorder) ReportStatus(status json.RawMessage, replace bool) error {
	r.progressing.Lock()
	defer r.progressing.Unlock()

	if r.closed {
		return errors.New("the run has ended")
	}

	if err := r.reportStatus(status, replace); err != nil {
		return err
	}

	r.watch.Progress(r.Summary())

	return nil
}

// ReportKinds records the kinds of objects that the content has made in the cluster so far. They are part of the next
// progress, so that they are not lost when the run is interrupted.
func (r *Recorder) ReportKinds(kinds []common.DependentKind) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.summary.Kinds = kinds
}

func (r *Recorder) reportStatus(reported json.RawMessage, replace bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	if len(reported) > maxStatus {
		return errors.Errorf("the status has %d bytes; at most %d can be read", len(reported), maxStatus)
	}

	patch, err := object(reported)
	if err != nil {
		return errors.Wrap(err, "cannot read the status")
	}

	var conditions []statusCondition

	if raw, ok := patch["conditions"]; ok {
		text, _ := json.Marshal(raw) //nolint:errchkjson // The value was decoded from JSON.
		_ = json.Unmarshal(text, &conditions)
		delete(patch, "conditions")
	}

	now := r.present()
	if replace || len(now) == 0 {
		now = json.RawMessage("{}")
	}

	text, _ := json.Marshal(patch) //nolint:errchkjson // The value was decoded from JSON.

	if text, err = jsonpatch.MergePatch(now, text); err != nil {
		return errors.Wrap(err, "cannot keep the status")
	}

	switch {
	case r.summary.ExcessDetails:
		return errors.New("nothing is shown of the run any more")
	case len(text) > MaxOutputs:
		return errors.Errorf("the status has %d bytes; at most %d can be kept", len(text), MaxOutputs)
	}

	if err := storable(text); err != nil {
		return errors.Wrap(err, "the status cannot be kept")
	}

	r.set = text
	// withhold decides again about fields that are set again.
	maps.DeleteFunc(r.withheld, func(name, _ string) bool {
		_, again := patch[name]
		return replace || again
	})
	r.withhold()

	r.reportConditions(conditions, metav1.NewTime(time.Now().UTC().Truncate(time.Second)))

	return nil
}

// present returns the status that this run and earlier runs have set.
func (r *Recorder) present() json.RawMessage {
	if r.set != nil {
		return r.set
	}

	return r.status
}

// A statusCondition is a condition in the status of an XR, or one that content reports. Since is a time, but content
// may set any value.
type statusCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Since   any    `json:"lastTransitionTime,omitempty"`
}

// ShowStatus returns the status of the XR with the changes of this run, which the XR itself receives later. A client
// that sets a condition sends back all conditions that it has read. So the result has only the conditions that content
// cannot report, and those that this run has reported.
func (r *Recorder) ShowStatus(status json.RawMessage) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	shown, err := object(status)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the status")
	}

	if all := r.showConditions(shown["conditions"]); len(all) > 0 {
		shown["conditions"] = all
	} else {
		delete(shown, "conditions")
	}

	// The XR may still have fields that the content has removed.
	if was, err := object(r.status); err == nil {
		for field := range was {
			delete(shown, field)
		}
	}

	if now, err := object(r.present()); err == nil {
		maps.Copy(shown, now)
	}

	text, err := json.Marshal(shown)

	return text, errors.Wrap(err, "cannot show the status")
}

// showConditions returns the conditions of an XR for ShowStatus.
func (r *Recorder) showConditions(all any) []any {
	var shown []any

	list, _ := all.([]any)

	for _, c := range list {
		of, _ := c.(map[string]any)
		if kind, _ := of["type"].(string); common.IsOwn(xpv2.Condition{Type: xpv2.ConditionType(kind)}) {
			shown = append(shown, c)
		}
	}

	for _, c := range r.summary.Report.Conditions {
		shown = append(shown,
			statusCondition{string(c.Type), string(c.Status), string(c.Reason), c.Message, c.LastTransitionTime})
	}

	return shown
}

// object decodes a JSON object, with numbers as json.Number; empty for no JSON or null.
func object(raw json.RawMessage) (map[string]any, error) {
	o := map[string]any{}
	if len(raw) == 0 {
		return o, nil
	}

	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()

	err := d.Decode(&o)
	if o == nil {
		o = map[string]any{}
	}

	return o, err
}
