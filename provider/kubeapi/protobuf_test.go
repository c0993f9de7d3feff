package kubeapi

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestMarkProtobuf writes Protobuf as typed clients in Go, such as kubectl create and helm, do.
func TestMarkProtobuf(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Name: "site", UID: "1-2"}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "0"}
	label := map[string]string{"dependent-of.ansible.crossplane.io/1-2": "true"}

	for name, tc := range map[string]struct {
		reason    string
		namespace string
		was, want metav1.ObjectMeta
	}{
		"New": {"An object without metadata gets marks.", "team-a", metav1.ObjectMeta{}, metav1.ObjectMeta{Labels: label, OwnerReferences: []metav1.OwnerReference{owner}}},
		"Others": {
			"Marks are added to the metadata of the object.", "team-a",
			metav1.ObjectMeta{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, OwnerReferences: []metav1.OwnerReference{other}, Finalizers: []string{"e/f"}},
			metav1.ObjectMeta{
				Labels:      map[string]string{"a": "b", "dependent-of.ansible.crossplane.io/1-2": "true"},
				Annotations: map[string]string{"c": "d"}, OwnerReferences: []metav1.OwnerReference{other, owner}, Finalizers: []string{"e/f"},
			},
		},
		"Labeled": {"An object gets the label only once.", "team-a", metav1.ObjectMeta{Labels: label}, metav1.ObjectMeta{Labels: label, OwnerReferences: []metav1.OwnerReference{owner}}},
		"Elsewhere": {
			"An object in another namespace gets annotations.", "team-b",
			metav1.ObjectMeta{Annotations: map[string]string{"c": "d"}},
			metav1.ObjectMeta{Labels: label, Annotations: map[string]string{
				"c": "d", "operator-sdk/primary-resource": "team-a/site", "operator-sdk/primary-resource-type": "AnsibleRun.ansible.m.crossplane.io",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := spec()
			run.Object = runner.Object{Namespace: "team-a", Name: "site", UID: "1-2"}
			run.Inputs.Kubernetes = &inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer", OwnerReferences: true, WatchDependents: true}

			_, way := openedFor(t, run, events.NewRecorder(events.Options{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)

				w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
				_, _ = w.Write(body)
			}))
			way.ContentType, way.AcceptContentTypes = typeProtobuf, typeProtobuf+","+typeJSON

			kube, err := kubernetes.NewForConfig(way)
			needs.OK(t, err)

			tc.was.Name, tc.was.Namespace = "server", tc.namespace
			tc.want.Name, tc.want.Namespace = "server", tc.namespace
			o := appsv1.DeploymentSpec{Replicas: new(int32(3)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "a"}}}

			got, err := kube.AppsV1().Deployments(tc.namespace).Create(t.Context(), &appsv1.Deployment{ObjectMeta: tc.was, Spec: o}, metav1.CreateOptions{})
			needs.OK(t, err)

			got.TypeMeta = metav1.TypeMeta{}
			if diff := cmp.Diff(&appsv1.Deployment{ObjectMeta: tc.want, Spec: o}, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestInjectProtobuf checks that all kinds of Kubernetes have their metadata in the same field, since marks are
// appended without knowledge of the kind.
func TestInjectProtobuf(t *testing.T) {
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

	for gvk := range scheme.Scheme.AllKnownTypes() {
		o, err := scheme.Scheme.New(gvk)
		needs.OK(t, err)

		m, err := meta.Accessor(o)
		if err != nil {
			continue // The kind has no metadata.
		}

		m.SetName("server")
		o.GetObjectKind().SetGroupVersionKind(gvk)

		body, err := runtime.Encode(codec, o)
		needs.OK(t, err)

		got, _, err := codec.Decode(injectProtobuf(body, marks{labels: map[string]string{"a": "b"}}), nil, nil)
		needs.OK(t, err)

		m.SetLabels(map[string]string{"a": "b"})

		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", gvk, diff)
		}
	}
}
