// Package outputstore keeps the end of the last run's output of an AnsibleRun in a ConfigMap, for users to read. The
// reconciler saves and deletes it. While a user watches, it also saves the output of a run in progress.
package outputstore

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Labels of the ConfigMaps.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	labelComponent = "app.kubernetes.io/component"
	managedBy      = "provider-ansible"
	component      = "run-output"
)

// A Store keeps the output of each AnsibleRun's last run in a ConfigMap that the AnsibleRun owns.
type Store struct {
	kube      client.Client
	namespace string
}

// New returns a store. The outputs of cluster scoped AnsibleRuns go to the namespace.
func New(c client.Client, namespace string) *Store {
	return &Store{kube: c, namespace: namespace}
}

// Save the output of a run in place of the output of the run before. A ConfigMap of that name with another owner is
// left unchanged, and is an error.
func (s *Store) Save(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind,
	r runs.Report,
) (*common.KeptOutput, error) {
	name := s.name(run, kind)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}

	_, err := controllerutil.CreateOrUpdate(ctx, s.kube, m, func() error {
		if m.ResourceVersion != "" && !belongsTo(m, kind, run.GetName()) {
			return errors.New("a ConfigMap of this name exists, and does not belong to the AnsibleRun: remove it")
		}

		m.Labels = map[string]string{labelManagedBy: managedBy, labelComponent: component}
		m.OwnerReferences = []metav1.OwnerReference{meta.AsController(meta.TypedReferenceTo(run, kind))}
		m.Data = map[string]string{
			common.OutputKeyOutput:         outputOf(r),
			common.OutputKeyRunID:          r.Run.ID,
			common.OutputKeyMode:           string(r.Run.Mode),
			common.OutputKeyState:          string(r.Run.State),
			common.OutputKeyPhase:          string(r.Run.Phase),
			common.OutputKeyCompletionTime: completion(r.Run),
		}

		return nil
	})
	if err != nil {
		return nil, errors.Wrapf(err, "cannot keep the output in ConfigMap %q", name)
	}

	return &common.KeptOutput{
		Namespace: name.Namespace, ConfigMap: name.Name, RunID: r.Run.ID,
		CompletionTime: r.Run.CompletionTime.DeepCopy(),
	}, nil
}

// Reference returns the ConfigMap for the output of an AnsibleRun, which may not exist yet.
func (s *Store) Reference(run common.AnsibleRun, kind schema.GroupVersionKind) *common.KeptOutput {
	name := s.name(run, kind)

	return &common.KeptOutput{Namespace: name.Namespace, ConfigMap: name.Name}
}

// Delete the output of an AnsibleRun, if there is any.
func (s *Store) Delete(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind) error {
	name := s.name(run, kind)
	found := &corev1.ConfigMap{}

	err := s.kube.Get(ctx, name, found)
	if kerrors.IsNotFound(err) || err == nil && !belongsTo(found, kind, run.GetName()) {
		return nil
	}

	if err == nil {
		err = s.kube.Delete(ctx, found, client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion})
	}

	return errors.Wrapf(client.IgnoreNotFound(err), "cannot delete ConfigMap %q", name)
}

// outputOf returns the output of a run, or the reason why it has none.
func outputOf(r runs.Report) string {
	if r.Output == "" && r.Run.Message != "" {
		return r.Run.Message + "\n"
	}

	return strings.ToValidUTF8(r.Output, "\uFFFD")
}

func completion(r common.Run) string {
	if r.CompletionTime == nil {
		return ""
	}

	return r.CompletionTime.UTC().Format(time.RFC3339)
}

// belongsTo is true for a ConfigMap that was made for an AnsibleRun of this name. That may be a deleted one, if the
// garbage collector has not removed the ConfigMap yet.
func belongsTo(m *corev1.ConfigMap, kind schema.GroupVersionKind, name string) bool {
	owner := metav1.GetControllerOf(m)
	if owner == nil || m.Labels[labelManagedBy] != managedBy {
		return false
	}

	gv, err := schema.ParseGroupVersion(owner.APIVersion)

	return err == nil && gv.Group == kind.Group && owner.Kind == kind.Kind && owner.Name == name
}

func (s *Store) name(run common.AnsibleRun, kind schema.GroupVersionKind) types.NamespacedName {
	n := types.NamespacedName{Namespace: run.GetNamespace(), Name: nameOf(kind.Group, run.GetName())}
	if n.Namespace == "" {
		n.Namespace = s.namespace
	}

	return n
}
