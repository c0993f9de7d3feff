package outputstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

var (
	namespaced = v1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun)
	cluster    = clusterv1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun)
	ended      = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
)

// kept returns the ConfigMap of an AnsibleRun.
func kept(namespace, name string, kind schema.GroupVersionKind, uid, output string) corev1.ConfigMap {
	version, _ := kind.ToAPIVersionAndKind()

	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
			Labels:    map[string]string{"app.kubernetes.io/managed-by": "provider-ansible", "app.kubernetes.io/component": "run-output"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: version, Kind: kind.Kind, Name: "site", UID: types.UID("uid-of-" + uid),
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Data: map[string]string{
			"output": output, "runID": "1", "mode": "Check", "state": "present", "phase": "Succeeded", "completionTime": "2026-01-02T03:04:05Z",
		},
	}
}

// TestStore saves and deletes output.
func TestStore(t *testing.T) {
	site := &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "site", UID: "uid-of-now"}}
	report := runs.Report{
		Run: common.Run{
			ID: "1", Mode: common.ModeCheck, State: common.StatePresent, Phase: common.PhaseSucceeded, CompletionTime: &ended,
		},
		Output: "PLAY\n",
	}
	failed := runs.Report{Run: report.Run}
	failed.Run.Message = "cannot install"

	const name = "site.output.ansible.m.crossplane.io"

	foreign := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"mine": "yes"}}
	sibling := kept("ns", name, namespaced, "now", "before")
	sibling.OwnerReferences[0].Name = "another"
	now := kept("ns", name, namespaced, "now", "PLAY\n")
	was := func(uid string) []corev1.ConfigMap {
		return []corev1.ConfigMap{kept("ns", name, namespaced, uid, "before")}
	}

	inCluster := &clusterv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: "site", UID: "uid-of-now"}}
	ofCluster := kept("provider", "site.output.ansible.crossplane.io", cluster, "now", "PLAY\n")
	taken := `cannot keep the output in ConfigMap "ns/` + name + `": a ConfigMap of this name exists, and does not belong to ` +
		`the AnsibleRun: remove it`

	for n, tc := range map[string]struct {
		reason string
		run    common.AnsibleRun
		kind   schema.GroupVersionKind
		report runs.Report
		there  []corev1.ConfigMap
		want   corev1.ConfigMap
		err    string
	}{
		"New":              {"Output should be kept in the namespace of its object, which owns it.", site, namespaced, report, nil, now, ""},
		"Cluster":          {"Output of a cluster scoped object should be kept in the provider's namespace.", inCluster, cluster, report, nil, ofCluster, ""},
		"Replaced":         {"The output of the run before should be replaced.", site, namespaced, report, was("now"), now, ""},
		"Inherited":        {"The output of a deleted object of the same name should be replaced.", site, namespaced, report, was("then"), now, ""},
		"NothingDisplayed": {"A run that displayed nothing should say why.", site, namespaced, failed, nil, kept("ns", name, namespaced, "now", "cannot install\n"), ""},
		"NotOurs":          {"A ConfigMap without the store's labels and owner should be left unchanged.", site, namespaced, report, []corev1.ConfigMap{foreign}, foreign, taken},
		"NotItsOwn":        {"A ConfigMap of another object should be left unchanged.", site, namespaced, report, []corev1.ConfigMap{sibling}, sibling, taken},
	} {
		t.Run(n, func(t *testing.T) {
			c := fake.NewClientBuilder().WithLists(&corev1.ConfigMapList{Items: tc.there}).Build()

			got, err := New(c, "provider").Save(t.Context(), tc.run, tc.kind, tc.report)
			if (err != nil) != (tc.err != "") || err != nil && err.Error() != tc.err {
				t.Errorf("\n%s\nSave(...): want error %q, got %v", tc.reason, tc.err, err)
			}

			if diff := cmp.Diff([]corev1.ConfigMap{tc.want}, all(t, c)); diff != "" {
				t.Errorf("\n%s\nSave(...): -want ConfigMaps, +got ConfigMaps:\n%s", tc.reason, diff)
			}

			want := &common.KeptOutput{Namespace: tc.want.Namespace, ConfigMap: tc.want.Name, RunID: "1", CompletionTime: &ended}
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				t.Errorf("\n%s\nSave(...): -want, +got:\n%s", tc.reason, diff)
			}

			needs.OK(t, New(c, "provider").Delete(t.Context(), tc.run, tc.kind))

			if left := len(all(t, c)); (left > 0) != (err != nil) {
				t.Errorf("\n%s\nDelete(...): only its own ConfigMap should be deleted, left %d", tc.reason, left)
			}

			needs.OK(t, New(c, "provider").Delete(t.Context(), tc.run, tc.kind))
		})
	}
}

func TestName(t *testing.T) {
	seen := map[string]string{}

	for _, group := range []string{common.GroupCluster, common.GroupNamespaced} {
		for _, name := range []string{
			"site", "site.output.ansible.crossplane.io",
			strings.Repeat("a", 222), strings.Repeat("a", 225), strings.Repeat("a", 252) + "b", strings.Repeat("a", 252) + "c",
			strings.Repeat("a.", 126) + "b",
		} {
			got := nameOf(group, name)

			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
				t.Errorf("Name(%q, %q): %q should be a name, but %v", group, name, got, problems)
			}

			if was, clash := seen[got]; clash {
				t.Errorf("Name(%q, %q): %q is already the name for %s", group, name, got, was)
			}

			seen[got] = group + " " + name
		}
	}

	if diff := cmp.Diff("site.output.ansible.m.crossplane.io", nameOf(common.GroupNamespaced, "site")); diff != "" {
		t.Errorf("A short name should stay readable: -want, +got:\n%s", diff)
	}
}

// all returns all ConfigMaps, without the fields that the API server adds.
func all(t *testing.T, c client.Client) []corev1.ConfigMap {
	t.Helper()

	l := &corev1.ConfigMapList{}
	needs.OK(t, c.List(context.Background(), l))

	for i := range l.Items {
		l.Items[i].ResourceVersion = ""
	}

	return l.Items
}
