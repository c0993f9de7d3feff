package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// actionStatus is the resolved name of the provider's own action, with which content reports. Ansible resolves the
// name, so that no other action can have it.
const actionStatus = "crossplane.ansible.status"

const (
	// MaxConditions is the largest number of types of conditions that a run reports.
	MaxConditions = 20
	// maxConditionMessage is the length of a condition's message, in bytes.
	maxConditionMessage = 4 << 10
	// maxWord is the length of a condition's reason, in bytes.
	maxWord = 1 << 10
)

// noLogMessage explains the failure of a report that no_log hides.
const noLogMessage = "no_log: true hides what " + actionStatus +
	" is to report: leave it out there, and publish secrets with " +
	"ansible.builtin.set_stats under " + ConnectionDetails

// A Report has the values that content has reported with crossplane.ansible.status. Messages are redacted. Values with
// secrets are left out.
type Report struct {
	// Outputs by name, each as JSON, together at most MaxOutputs.
	Outputs map[string]json.RawMessage
	// Withheld has the reasons why other outputs are left out, by name.
	Withheld common.Withheld `json:",omitempty"`
	// Conditions by type, MaxConditions at most, in the order in which they were first reported. The time is that of the
	// last report that changed the status of the condition.
	Conditions []xpv2.Condition
	// Excess is true when more than MaxConditions types of conditions were reported.
	Excess bool
	// Status is the status of the XR that the content has set, merged with that of earlier runs: a JSON object of at most
	// MaxOutputs bytes, or nil if the content has not set it.
	Status json.RawMessage `json:",omitempty"`
	// WithheldStatus has the reasons why other fields of the status are left out, by name.
	WithheldStatus common.Withheld `json:",omitempty"`
}

// Check returns an error for a report that a Recorder cannot have made.
func (r Report) Check() error {
	if len(r.Conditions) > MaxConditions {
		return errors.Errorf("%d conditions are more than %d", len(r.Conditions), MaxConditions)
	}

	if n := max(len(r.Withheld), len(r.WithheldStatus)); n > common.MaxWithheld {
		return errors.Errorf("%d withheld outputs or fields are more than %d", n, common.MaxWithheld)
	}

	types := map[xpv2.ConditionType]bool{}

	for _, c := range r.Conditions {
		if types[c.Type] || status(string(c.Status)) != c.Status || len(c.Type)+len(c.Reason) > 2*maxWord ||
			len(c.Message) > maxConditionMessage {
			return errors.New("a condition is a duplicate, is neither True, False nor Unknown, or is too long")
		}

		types[c.Type] = true
	}

	if len(r.Status) > 0 {
		if err := CheckOutputs(r.Status); err != nil {
			return err
		}
	}

	return CheckOutputs(Encode(r.Outputs))
}

// reported is the result of the action crossplane.ansible.status.
type reported struct {
	Reported   bool                       `json:"reported"`
	Outputs    map[string]json.RawMessage `json:"outputs"`
	Conditions []statusCondition          `json:"conditions"`
}

// recordReport records a report of actionStatus. It returns false for other events and for empty reports.
func (r *Recorder) recordReport(e event, d data) bool {
	var res reported

	if d.ResolvedAction != actionStatus || e.Kind != hostOK && e.Kind != itemOK ||
		json.Unmarshal(d.Result, &res) != nil || !res.Reported {
		return false
	}

	if len(res.Outputs) > 0 {
		r.reportOutputs(res.Outputs)
	}

	r.reportConditions(res.Conditions, r.time(e))

	return len(res.Outputs)+len(res.Conditions) > 0
}

// status returns a text as the status of a condition; Unknown for an invalid text, since content may forge results of
// the action.
func status(s string) corev1.ConditionStatus {
	switch known := corev1.ConditionStatus(s); known {
	case corev1.ConditionTrue, corev1.ConditionFalse:
		return known
	case corev1.ConditionUnknown:
	}

	return corev1.ConditionUnknown
}

// reportOutputs merges reported outputs into the earlier ones, unless the result is too large.
func (r *Recorder) reportOutputs(outputs map[string]json.RawMessage) {
	merged := maps.Clone(r.outputs)
	if merged == nil {
		merged = map[string]json.RawMessage{}
	}

	maps.Copy(merged, r.storable(outputs))

	if size := len(Encode(merged)); size > MaxOutputs {
		r.summary.OutputsSize = max(size, r.summary.OutputsSize)

		return
	}

	r.outputs = merged
	r.withhold()
}

// withhold updates the outputs and the status in the summary, without values that contain a secret.
func (r *Recorder) withhold() {
	own := &r.summary.Report
	own.Outputs, own.Status, own.Withheld, own.WithheldStatus = nil, nil, nil, nil

	if r.summary.ExcessDetails {
		return
	}

	if len(r.outputs) > 0 {
		var withheld common.Withheld

		own.Outputs, withheld = r.whole(r.outputs)
		own.Withheld = withheld.Limited()
	}

	if r.set != nil {
		var fields map[string]json.RawMessage

		_ = json.Unmarshal(r.set, &fields)

		fields, withheld := r.whole(fields)
		maps.Copy(withheld, r.withheld)

		own.Status, own.WithheldStatus = Encode(fields), withheld.Limited()
	}
}

// whole returns the values without secrets, and the reasons why the other values are withheld.
func (r *Recorder) whole(values map[string]json.RawMessage) (map[string]json.RawMessage, common.Withheld) {
	whole, withheld := map[string]json.RawMessage{}, common.Withheld{}

	for _, name := range slices.Sorted(maps.Keys(values)) {
		if from, secret := r.secrets.In(name); secret {
			withheld[""] = from.String() + " is in its name"
		} else if from, secret := r.secretIn(values[name]); secret {
			withheld[name] = from.String() + " is in it"
		} else {
			whole[name] = values[name]
		}
	}

	return whole, withheld
}

// secretIn returns the source of the first secret in the scalars and keys of a JSON value; false if it has none.
func (r *Recorder) secretIn(value json.RawMessage) (redact.Source, bool) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()

	for {
		t, err := d.Token()
		if err != nil {
			return redact.Source{}, false
		}

		if from, secret := r.secrets.In(fmt.Sprint(t)); secret {
			return from, true
		}
	}
}

// reportConditions records conditions that content has set at a time. A condition replaces an earlier one of its type.
// Types of Crossplane and of the provider, and types with a secret, are left out.
func (r *Recorder) reportConditions(all []statusCondition, at metav1.Time) {
	own := &r.summary.Report

	for _, reported := range all {
		c, ok := r.condition(xpv2.Condition{
			Type: xpv2.ConditionType(clip.Text(reported.Type, maxWord)), Status: status(reported.Status), LastTransitionTime: at,
			Reason: xpv2.ConditionReason(clip.Text(reported.Reason, maxWord)), Message: reported.Message,
		})
		i := slices.IndexFunc(own.Conditions, func(o xpv2.Condition) bool { return o.Type == c.Type })

		switch {
		case !ok:
		case i >= 0:
			if own.Conditions[i].Status == c.Status {
				c.LastTransitionTime = own.Conditions[i].LastTransitionTime
			}

			own.Conditions[i] = c
		case len(own.Conditions) == MaxConditions:
			own.Excess = true
		default:
			own.Conditions = append(own.Conditions, c)
		}
	}
}

// condition returns a redacted condition; false for a type that content must not set.
func (r *Recorder) condition(c xpv2.Condition) (xpv2.Condition, bool) {
	if _, secret := r.secrets.In(string(c.Reason)); secret {
		c.Reason = common.ReasonContainsSecret
	}

	c.Message = r.field(c.Message, maxConditionMessage)
	_, secret := r.secrets.In(string(c.Type))

	return c, !secret && !common.IsOwn(c)
}

// finishOutputs records the outputs and the connection details that set_stats has published. Reported outputs take
// precedence.
func (r *Recorder) finishOutputs(artifacts json.RawMessage) {
	var all map[string]json.RawMessage

	_ = json.Unmarshal(artifacts, &all)

	if details := all[ConnectionDetails]; details != nil {
		r.learnSecrets(details)
		r.summary.ConnectionDetails = details
		delete(all, ConnectionDetails)
	}

	all = r.storable(all)
	maps.Copy(all, r.outputs)

	if len(all) == 0 {
		return
	}

	r.summary.OutputsSize = max(len(Encode(all)), r.summary.OutputsSize)
	if r.summary.OutputsSize > MaxOutputs || r.summary.ExcessDetails {
		return
	}

	whole, withheld := r.whole(all)
	r.summary.Outputs, r.summary.Withheld = Encode(whole), withheld.Limited()
}

// Encode returns the JSON of a value that JSON can represent, without escapes for HTML.
func Encode(value any) json.RawMessage {
	var out bytes.Buffer

	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)

	_ = enc.Encode(value) //nolint:errchkjson // JSON can represent the value.

	return bytes.TrimSpace(out.Bytes())
}

// storable returns the values that a status can hold. The summary names the last one that is left out.
func (r *Recorder) storable(values map[string]json.RawMessage) map[string]json.RawMessage {
	kept := map[string]json.RawMessage{}

	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := storable(values[name]); err != nil {
			r.summary.InvalidOutput = r.field("output "+strconv.Quote(clip.Text(name, MaxName))+" cannot be kept: "+err.Error(),
				maxMessage)

			continue
		}

		kept[name] = values[name]
	}

	return kept
}

// learnSecrets adds published connection details to the secrets, and redacts the summary again.
func (r *Recorder) learnSecrets(details json.RawMessage) {
	if bytes.Equal(r.details, details) {
		return
	}

	r.details = bytes.Clone(details)
	r.learned += len(details)

	// More secrets would need too much memory, and the end of a secret that was cut is not known. Without a complete list
	// of secrets, nothing of the run can be shown.
	r.summary.ExcessDetails = r.summary.ExcessDetails || r.learned > MaxDetails || isCut(details)
	if !r.summary.ExcessDetails {
		r.secrets.Add(redact.InDetails(details)...)
		r.summary.ExcessDetails = r.secrets.Excess()
	}

	s := &r.summary
	s.Play, s.Task = r.name(s.Play), r.name(s.Task)

	for i, f := range s.Failures {
		s.Failures[i].Task, s.Failures[i].Message = r.name(f.Task), r.field(f.Message, maxMessage)
	}

	for i, c := range s.Changed {
		s.Changed[i] = common.DriftTask{Task: r.name(c.Task), Host: c.Host, Diff: r.field(c.Diff, maxDiff)}
	}

	var conditions []xpv2.Condition

	for _, c := range s.Report.Conditions {
		if c, ok := r.condition(c); ok {
			conditions = append(conditions, c)
		}
	}

	s.Report.Conditions = conditions
	r.withhold()
}

// published returns the connection details in the result of a task; nil for none. Ansible accepts statistics from any
// module.
func published(res json.RawMessage) json.RawMessage {
	var stats struct {
		Stats struct {
			Data map[string]json.RawMessage `json:"data"`
		} `json:"ansible_stats"`
	}

	if !bytes.Contains(res, []byte(`"ansible_stats"`)) || json.Unmarshal(res, &stats) != nil {
		return nil
	}

	return stats.Stats.Data[ConnectionDetails]
}

// time returns the time of an event in seconds, the precision of the API server.
func (r *Recorder) time(e event) metav1.Time {
	at, err := time.Parse(time.RFC3339Nano, e.Created)
	if err != nil {
		at = time.Now()
	}

	return metav1.NewTime(at.UTC().Truncate(time.Second))
}
