package lifecycle

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// PolicyOf returns the run policy of an AnsibleRun. An invalid value is an error.
func PolicyOf(run common.AnsibleRun) (common.RunPolicy, error) {
	v, ok := run.GetAnnotations()[common.AnnotationRunPolicy]
	if !ok {
		return common.ObserveAndDelete, nil
	}

	switch p := common.RunPolicy(v); p {
	case common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange:
		return p, nil
	}

	return "", errors.Errorf("annotation %s: %q is not a run policy: use %s, %s or %s",
		common.AnnotationRunPolicy, v, common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange)
}
