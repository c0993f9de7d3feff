package lifecycle

import (
	"encoding/json"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// recordOutputs records the outputs of a run with state present. While the run goes on, and
// when it fails, the outputs that it has reported are merged over the recorded ones. The
// outputs of a run that has succeeded replace all recorded ones. What is withheld is not among them.
func recordOutputs(o *common.AnsibleRunObservation, r executor.Report) {
	switch {
	case r.Run.State != common.StatePresent:
		// A run with state absent has no outputs. It may have a status.
		o.WithheldOutputs = withheld(o, r.Reported, r.Reported.Withheld, false)
	case r.Run.Phase == common.PhaseSucceeded:
		o.Outputs, o.WithheldOutputs = r.Outputs.DeepCopy(), withheld(o, r.Reported, r.Withheld, true)
	case len(r.Reported.Outputs)+len(r.Reported.Withheld) > 0:
		o.Outputs = mergedOutputs(o.Outputs, r.Reported)
		o.WithheldOutputs = withheld(o, r.Reported, r.Reported.Withheld, false)
	}
}

// withheld returns what is withheld now, with what is recorded. As one list has outputs and fields of the status, what
// is recorded stays until it is neither: all outputs are new or this one is whole, and this field is whole or no
// earlier one is left.
func withheld(
	o *common.AnsibleRunObservation, r events.Report, now []common.WithheldOutput, newOutputs bool,
) []common.WithheldOutput {
	var status map[string]json.RawMessage

	if o.Reported != nil {
		_ = json.Unmarshal(o.Reported.Raw, &status)
	}

	all := slices.Clone(now)

	for _, w := range o.WithheldOutputs {
		_, isOutput := r.Outputs[w.Name]
		_, isField := status[w.Name]
		known := slices.ContainsFunc(all, func(o common.WithheldOutput) bool { return o.Name == w.Name })

		if !known && (!newOutputs && !isOutput || o.Reported != nil && !r.Replaced && !isField) {
			all = append(all, w)
		}
	}

	return events.ListWithheld(all)
}

// recordDependents records what a run has made in the cluster. The kinds of a run that has not ended are beside those
// that are known: if it is interrupted, the next run may not write such objects again.
func recordDependents(o *common.AnsibleRunObservation, r executor.Report) {
	if r.Dependents != nil {
		o.Dependents = slices.Clone(r.Dependents)
		return
	}

	all := slices.Clone(o.Dependents)

	for _, k := range r.Kinds {
		k.Count, k.Digest = 0, ""

		known := slices.ContainsFunc(all, func(d common.DependentKind) bool {
			d.Count, d.Digest = 0, ""
			return d == k
		})

		if !known && len(all) < dependents.MaxKinds {
			all = append(all, k)
		}
	}

	o.Dependents = all
}

// recordDetails records that a run has published connection details. No Secret has them yet.
func recordDetails(o *common.AnsibleRunObservation, r executor.Report) {
	switch d := o.ConnectionDetails; {
	case r.Run.State != common.StatePresent || r.Run.Phase != common.PhaseSucceeded:
		// The Secret keeps the details of the last successful apply.
	case len(r.ConnectionDetails) == 0:
		o.ConnectionDetails = nil
	case d == nil || d.RunID != r.Run.ID:
		o.ConnectionDetails = &common.PublishedDetails{RunID: r.Run.ID}
	}
}

// mergedOutputs returns the recorded outputs with the reported ones over them. If both
// together are too large, the recorded ones are dropped, and if one that is withheld has no name: it may be any.
func mergedOutputs(was *apiextensionsv1.JSON, r events.Report) *apiextensionsv1.JSON {
	all := map[string]json.RawMessage{}
	if was != nil {
		_ = json.Unmarshal(was.Raw, &all)
	}

	for _, w := range r.Withheld {
		if delete(all, w.Name); w.Name == "" {
			clear(all)
		}
	}

	maps.Copy(all, r.Outputs)

	raw := events.Encode(all)
	if len(raw) > events.MaxOutputs {
		raw = events.Encode(r.Outputs)
	}

	return &apiextensionsv1.JSON{Raw: raw}
}

// Conditions of an object, with the ones that the content has reported in place of its
// earlier ones. A reported condition has the generation that the run is for, and a new
// transition time when its status changes. A successful apply removes conditions of the
// content that it did not report.
func Conditions(was []xpv2.Condition, r executor.Report) []xpv2.Condition {
	if r.Run.Mode == common.ModeCheck {
		return was
	}

	applied := r.Run.State == common.StatePresent && r.Run.Phase == common.PhaseSucceeded
	now := slices.Clone(was)

	for _, c := range r.Reported.Conditions {
		c = c.WithObservedGeneration(r.Generation)

		i := slices.IndexFunc(now, func(o xpv2.Condition) bool { return o.Type == c.Type })
		if i < 0 {
			now = append(now, c)
			continue
		}

		if now[i].Status == c.Status {
			c.LastTransitionTime = now[i].LastTransitionTime
		}

		now[i] = c
	}

	return slices.DeleteFunc(now, func(c xpv2.Condition) bool {
		return applied && !common.IsOwn(c) &&
			!slices.ContainsFunc(r.Reported.Conditions, func(o xpv2.Condition) bool { return o.Type == c.Type })
	})
}
