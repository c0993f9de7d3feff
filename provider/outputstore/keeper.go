// Package output keeps the end of what runs displayed, for those who look at
// their objects.
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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Keys of the ConfigMaps.
const (
	// KeyOutput has the end of what the run displayed, redacted.
	KeyOutput = "output"
	// KeyRunID has the id of the run.
	KeyRunID = "runID"
	// KeyMode, KeyState and KeyPhase are as in the status of the AnsibleRun.
	KeyMode  = "mode"
	KeyState = "state"
	KeyPhase = "phase"
	// KeyCompletionTime says when the run ended, in RFC 3339.
	KeyCompletionTime = "completionTime"
)

// Labels of the ConfigMaps.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	labelComponent = "app.kubernetes.io/component"

	managedBy = "provider-ansible"
	component = "run-output"
)

// A Keeper keeps the output of the last run of an AnsibleRun in a ConfigMap that
// the AnsibleRun owns.
type Keeper struct {
	kube      client.Client
	namespace string
}

// NewKeeper returns a keeper. The namespace is where the output of cluster
// scoped AnsibleRuns is kept.
func NewKeeper(c client.Client, namespace string) *Keeper {
	return &Keeper{kube: c, namespace: namespace}
}

// Keep the output of a run that has ended in place of the one before. A
// ConfigMap that somebody else has made is left alone, and is an error.
func (k *Keeper) Keep(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind, r executor.Report) (*common.KeptOutput, error) {
	want := k.configMap(run, kind, r)
	kept := &common.KeptOutput{Namespace: want.Namespace, ConfigMap: want.Name, RunID: r.Run.ID}

	if err := k.write(ctx, want, func(found *corev1.ConfigMap) bool { return ours(found, kind, run.GetName()) }); err != nil {
		return nil, errors.Wrapf(err, "cannot keep the output in ConfigMap %q", client.ObjectKeyFromObject(want))
	}

	return kept, nil
}

// write a ConfigMap in place of the one that is there, if that may be.
func (k *Keeper) write(ctx context.Context, want *corev1.ConfigMap, may func(found *corev1.ConfigMap) bool) error {
	found := &corev1.ConfigMap{}

	err := k.kube.Get(ctx, client.ObjectKeyFromObject(want), found)

	switch {
	case kerrors.IsNotFound(err):
		return k.kube.Create(ctx, want)
	case err != nil:
		return err
	case !may(found):
		return errors.New("one of this name is there already, and does not belong to the AnsibleRun: remove it")
	}

	want.ResourceVersion = found.ResourceVersion

	return k.kube.Update(ctx, want)
}

// Drop the output that is kept of an AnsibleRun, if there is any.
func (k *Keeper) Drop(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind) error {
	name := k.name(run, kind)
	found := &corev1.ConfigMap{}

	err := k.kube.Get(ctx, name, found)
	if kerrors.IsNotFound(err) || err == nil && !ours(found, kind, run.GetName()) {
		return nil
	}

	if err == nil {
		err = k.kube.Delete(ctx, found, client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion})
	}

	return errors.Wrapf(client.IgnoreNotFound(err), "cannot delete ConfigMap %q", name)
}

func (k *Keeper) configMap(run common.AnsibleRun, kind schema.GroupVersionKind, r executor.Report) *corev1.ConfigMap {
	name := k.name(run, kind)

	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       name.Namespace,
			Name:            name.Name,
			Labels:          map[string]string{labelManagedBy: managedBy, labelComponent: component},
			OwnerReferences: []metav1.OwnerReference{meta.AsController(meta.TypedReferenceTo(run, kind))},
		},
		Data: map[string]string{
			KeyOutput:         shown(r),
			KeyRunID:          r.Run.ID,
			KeyMode:           string(r.Run.Mode),
			KeyState:          string(r.Run.State),
			KeyPhase:          string(r.Run.Phase),
			KeyCompletionTime: completion(r.Run),
		},
	}
}

// shown is what a run displayed. One that did not get as far as that still has
// something to say.
func shown(r executor.Report) string {
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

// ours is true for a ConfigMap that was made for an AnsibleRun of this name, be
// it an earlier one whose ConfigMap was not collected yet.
func ours(m *corev1.ConfigMap, kind schema.GroupVersionKind, name string) bool {
	owner := metav1.GetControllerOf(m)
	if owner == nil || m.Labels[labelManagedBy] != managedBy {
		return false
	}

	gv, err := schema.ParseGroupVersion(owner.APIVersion)

	return err == nil && gv.Group == kind.Group && owner.Kind == kind.Kind && owner.Name == name
}

func (k *Keeper) name(run common.AnsibleRun, kind schema.GroupVersionKind) types.NamespacedName {
	n := types.NamespacedName{Namespace: run.GetNamespace(), Name: Name(kind.Group, run.GetName())}
	if n.Namespace == "" {
		n.Namespace = k.namespace
	}

	return n
}
