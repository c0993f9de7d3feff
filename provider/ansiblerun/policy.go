package ansiblerun

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// policyOf an AnsibleRun. A value that is not a policy is an error, never a
// silent default.
func policyOf(run common.AnsibleRun) (common.RunPolicy, error) {
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

// unsupported reports what the API has and the provider does not honour yet.
func unsupported(run common.AnsibleRun) error {
	if writesConnectionSecret(run) {
		return errors.New("spec.writeConnectionSecretToRef is not supported yet: remove it")
	}

	return nil
}

func writesConnectionSecret(run common.AnsibleRun) bool {
	switch r := run.(type) {
	case resource.LocalConnectionSecretWriterTo:
		return r.GetWriteConnectionSecretToReference() != nil
	case resource.ConnectionSecretWriterTo:
		return r.GetWriteConnectionSecretToReference() != nil
	}

	return false
}
