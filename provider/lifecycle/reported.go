package lifecycle

import (
	"encoding/json"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// recordOutputs records the outputs of a run with state present, and the withheld outputs. Reported outputs of a run in
// progress, or of a failed run, are merged into the recorded ones. The outputs of a successful run replace them.
func recordOutputs(o *common.AnsibleRunObservation, r runs.Report) {
	switch {
	case r.Run.State != common.StatePresent:
		// A run with state absent has no outputs.
	case r.Run.Phase == common.PhaseSucceeded:
		o.Outputs, o.WithheldOutputs = r.Outputs.DeepCopy(), r.Withheld.DeepCopy()
	case len(r.Reported.Outputs)+len(r.Reported.Withheld) > 0:
		mergeOutputs(o, r)
	}
}

// recordDependents records the kinds of objects that a run has made in the cluster. The kinds of a run in progress are
// added to the recorded ones: if it is interrupted, the next run may not write such objects again.
func recordDependents(o *common.AnsibleRunObservation, r runs.Report) {
	if r.Dependents != nil {
		o.Dependents = slices.Clone(r.Dependents)
		return
	}

	all := slices.Clone(o.Dependents)

	for _, k := range r.Kinds {
		k.Digest = ""

		known := slices.ContainsFunc(all, func(d common.DependentKind) bool {
			d.Digest = ""
			return d == k
		})

		if !known && len(all) < common.MaxDependents {
			all = append(all, k)
		}
	}

	o.Dependents = all
}

// recordDetails records that a run has published connection details, which are not in the Secret yet.
func recordDetails(o *common.AnsibleRunObservation, r runs.Report) {
	switch d := o.ConnectionDetails; {
	case r.Run.State != common.StatePresent || r.Run.Phase != common.PhaseSucceeded:
		// The Secret keeps the details of the last successful apply.
	case len(r.ConnectionDetails) == 0:
		o.ConnectionDetails = nil
	case d == nil || d.RunID != r.Run.ID:
		o.ConnectionDetails = &common.PublishedDetails{RunID: r.Run.ID}
	}
}

// mergeOutputs merges the reported outputs into the recorded ones, unless the result is too large.
func mergeOutputs(o *common.AnsibleRunObservation, r runs.Report) {
	all, withheld := map[string]json.RawMessage{}, maps.Clone(r.Reported.Withheld)
	if o.Outputs != nil {
		_ = json.Unmarshal(o.Outputs.Raw, &all)
	}

	if withheld == nil {
		withheld = common.Withheld{}
	}

	for name, why := range o.WithheldOutputs {
		if _, whole := r.Reported.Outputs[name]; !whole {
			withheld[name] = why
		}
	}

	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { _, ok := r.Reported.Withheld[name]; return ok })
	maps.Copy(all, r.Reported.Outputs)

	if raw := events.Encode(all); len(raw) <= events.MaxOutputs {
		o.Outputs, o.WithheldOutputs = &apiextensionsv1.JSON{Raw: raw}, withheld.Limited()
	}
}

// Conditions returns the conditions of an object with those that the content has reported. A reported condition has the
// generation of the run, and a new transition time if its status has changed. A successful apply removes conditions of
// the content that it has not reported.
func Conditions(was []xpv2.Condition, r runs.Report) []xpv2.Condition {
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
