package kubeapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// marking returns the proxy of a run, a client for it, and the bodies that the API server gets.
func marking(t *testing.T, object runner.Object, k inputs.Kubernetes, there string) (*proxy, *rest.Config, *[]string) {
	t.Helper()

	var got []string

	run := runner.Spec{Object: object, Inputs: inputs.Inputs{Kubernetes: &k}}
	p, way := openedFor(t, run, events.NewRecorder(events.Options{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")

		if r.Method == http.MethodGet {
			if there == "" {
				w.WriteHeader(http.StatusNotFound)
			}

			_, _ = io.WriteString(w, there)

			return
		}

		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
		_, _ = w.Write(body)
	}))

	return p, way, &got
}

func TestMark(t *testing.T) {
	namespaced := runner.Object{Namespace: "team-a", Name: "site", UID: "1-2"}
	cluster := runner.Object{Name: "site", UID: "1-2"}

	const (
		configMaps = "/api/v1/namespaces/team-a/configmaps"
		owner      = `{"apiVersion":"ansible.m.crossplane.io/v1alpha1","kind":"AnsibleRun","name":"site","uid":"1-2"}`
		label      = `"labels":{"dependent-of.ansible.crossplane.io/1-2":"true"}`
		jsonType   = "application/json"
		merge      = "application/merge-patch+json"
		apply      = "application/apply-patch+yaml"
		there      = `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata",`
	)

	owns, labels := inputs.Kubernetes{OwnerReferences: true}, inputs.Kubernetes{WatchDependents: true}

	for name, tc := range map[string]struct {
		reason string
		object runner.Object
		k      inputs.Kubernetes
		there  string
		method string
		path   string
		kind   string
		body   string
		want   string
		status int
	}{
		"Nothing": {"Without OwnerReferences and WatchDependents an object is unchanged.", namespaced, inputs.Kubernetes{}, "", "POST", configMaps, jsonType, `{"a": 1, "metadata":{}}`, `{"a": 1, "metadata":{}}`, 200},
		"Owner": {
			"An object that a run creates in its namespace gets the AnsibleRun as an owner, beside other owners.", namespaced, owns, "", "POST", configMaps, jsonType,
			`{"data":{"n":9007199254740993},"metadata":{"name":"a","ownerReferences":[{"uid":"0"}]}}`,
			`{"data":{"n":9007199254740993},"metadata":{"name":"a","ownerReferences":[{"uid":"0"},` + owner + `]}}`, 200,
		},
		"OwnerOnce": {
			"An object gets the owner only once.", namespaced, owns, "", "POST", configMaps, jsonType,
			`{"metadata":{"ownerReferences":[` + owner + `]}}`, `{"metadata":{"ownerReferences":[` + owner + `]}}`, 200,
		},
		"NoOwnerElsewhere": {
			"An object that cannot have the owner gets annotations with the name of the AnsibleRun.", namespaced, owns, "", "POST", "/api/v1/namespaces", jsonType, `{"metadata":{"annotations":{"a":"b"}}}`,
			`{"metadata":{"annotations":{"a":"b","operator-sdk/primary-resource":"team-a/site","operator-sdk/primary-resource-type":"AnsibleRun.ansible.m.crossplane.io"}}}`, 200,
		},
		"ClusterScopedOwner": {
			"A cluster scoped AnsibleRun may own everything.", cluster, owns, "", "POST", configMaps, jsonType, `{"kind":"ConfigMap"}`,
			`{"metadata":{"ownerReferences":[{"apiVersion":"ansible.crossplane.io/v1alpha1","kind":"AnsibleRun","name":"site","uid":"1-2"}]},"kind":"ConfigMap"}`, 200,
		},
		"YAML": {"An object in YAML gets marks.", namespaced, owns, "", "POST", configMaps, "application/yaml; charset=utf-8", "a: 1\n", `{"metadata":{"ownerReferences":[` + owner + `]},"a":1}`, 200},
		"ApplyNew": {
			"An object that server-side apply creates gets the owner.", namespaced, owns, "", "PATCH", configMaps + "/a", apply, "kind: ConfigMap\n",
			`{"metadata":{"ownerReferences":[` + owner + `]},"kind":"ConfigMap"}`, 200,
		},
		"ApplyOwn": {
			"An apply keeps the owner that the object has.", namespaced, owns, there + `"metadata":{"ownerReferences":[` + owner + `]}}`, "PATCH", configMaps + "/a", apply, "{}",
			`{"metadata":{"ownerReferences":[` + owner + `]}}`, 200,
		},
		"ApplyForeign": {"An apply adds no owner to an object of another client.", namespaced, owns, there + `"metadata":{"name":"a"}}`, "PATCH", configMaps + "/a", apply, "{}", "{}", 200},
		"ReplaceOwn": {
			"A replacement keeps the owner that the object has.", namespaced, owns, there + `"metadata":{"ownerReferences":[` + owner + `]}}`, "PUT", configMaps + "/a", jsonType, `{"metadata":{}}`,
			`{"metadata":{"ownerReferences":[` + owner + `]}}`, 200,
		},
		"Merge":      {"A merge adds no owner.", namespaced, owns, "", "PATCH", configMaps + "/a", merge, `{"data":null}`, `{"data":null}`, 200},
		"MergeLabel": {"A merge adds the label.", namespaced, labels, "", "PATCH", configMaps + "/a", merge, `{"data":null}`, `{"metadata":{` + label + `},"data":null}`, 200},
		"Label":      {"A created object gets the label.", namespaced, labels, "", "POST", configMaps, jsonType, `{"metadata":{"labels":null}}`, `{"metadata":{` + label + `}}`, 200},
		"JSONPatch":  {"A JSON patch gets no marks.", namespaced, labels, "", "PATCH", configMaps + "/a", "application/json-patch+json", `[{"op":"test"}]`, `[{"op":"test"}]`, 200},
		"Reviews":    {"A review, which the API server does not store, gets no marks.", namespaced, owns, "", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", jsonType, "{}", "{}", 200},
		"Events":     {"An event, which expires, gets no marks.", namespaced, labels, "", "POST", "/api/v1/namespaces/team-a/events", jsonType, "{}", "{}", 200},
		"Evict":      {"A subresource gets no marks.", namespaced, owns, "", "POST", "/api/v1/namespaces/team-a/pods/a/eviction", jsonType, "{}", "{}", 200},
		"Garbage":    {"Invalid JSON is left to the API server.", namespaced, owns, "", "POST", configMaps, jsonType, "{", "{", 200},
		"NoProtobuf": {"Invalid Protobuf is left to the API server.", namespaced, owns, "", "POST", configMaps, typeProtobuf, "k8s", "k8s", 200},
		"CBOR":       {"An object in another format is refused.", namespaced, owns, "", "POST", configMaps, runtime.ContentTypeCBOR, "k8s", "", 415},
		"Huge":       {"An object that is too large is refused.", namespaced, owns, "", "POST", configMaps, jsonType, strings.Repeat(" ", maxBody+1), "", 413},
	} {
		t.Run(name, func(t *testing.T) {
			k := tc.k
			k.Namespace, k.ServiceAccount = "team-a", "deployer"
			_, way, got := marking(t, tc.object, k, tc.there)

			if status, answer := do(t, way, tc.method, tc.path, tc.kind, tc.body); status != tc.status {
				t.Errorf("%s\nwant status %d, got %d: %s", tc.reason, tc.status, status, answer)
			}

			if diff := cmp.Diff(tc.want, strings.Join(*got, "|")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLearn(t *testing.T) {
	k := inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer", WatchDependents: true}
	discovery := `{"resources":[{"name":"configmaps","kind":"ConfigMap"},{"name":"deployments","kind":"Deployment"},{"name":"secrets","kind":"Secret"},{"name":"namespaces","kind":"Namespace"}]}`
	p, way, _ := marking(t, runner.Object{Namespace: "team-a", Name: "site", UID: "1-2"}, k, discovery)

	for _, of := range []struct{ method, kind, path string }{
		{"POST", typeJSON, "/api/v1/namespaces/team-a/configmaps"},
		{"PATCH", "application/merge-patch+json", "/api/v1/namespaces/team-a/configmaps/b"},
		{"PUT", typeJSON, "/apis/apps/v1/namespaces/team-a/deployments/b"},
		{"PUT", typeJSON, "/api/v1/namespaces/team-a"},
		{"POST", typeJSON, "/api/v1/namespaces/team-a/secrets?dryRun=All"},
		{"PATCH", "application/json-patch+json", "/api/v1/namespaces/team-a/secrets/b"},
		{"POST", typeJSON, "/apis/example.org/v1/namespaces/team-a/unknown"},
	} {
		do(t, way, of.method, of.path, of.kind, `{}`)
	}

	want := []common.DependentKind{
		{APIVersion: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: "team-a"},
		{APIVersion: "apps/v1", Kind: "Deployment", Resource: "deployments", Namespace: "team-a"},
		{APIVersion: "v1", Kind: "Namespace", Resource: "namespaces"},
	}
	if diff := cmp.Diff(want, p.rec.Summary().Kinds); diff != "" {
		t.Errorf("Kinds of labeled objects should be known: -want, +got:\n%s", diff)
	}

	if got := p.Dependents(t.Context()); len(got) != 3 || got[0].Digest != "" {
		t.Errorf("Kinds that cannot be listed should be known without a digest, got %v", got)
	}
}

func TestHasDeleted(t *testing.T) {
	k := inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer", WatchDependents: true}
	deployments := common.DependentKind{APIVersion: "apps/v1beta1", Resource: "deployments", Namespace: "team-a"}

	for name, tc := range map[string]struct {
		reason string
		path   string
		want   bool
	}{
		"Object":      {"An object that was deleted in another version of its kind is deleted.", "/apis/apps/v1/namespaces/team-a/deployments/a", true},
		"All":         {"A deleted collection includes the object.", "/apis/apps/v1/namespaces/team-a/deployments", true},
		"Namespace":   {"A deleted namespace includes the object.", "/api/v1/namespaces/team-a", true},
		"DryRun":      {"A dry run deletes nothing.", "/apis/apps/v1/namespaces/team-a/deployments/a?dryRun=All", false},
		"Refused":     {"A refused request deletes nothing.", "/apis/apps/v1/namespaces/team-a/deployments/a?refuse", false},
		"Other":       {"The deletion of another object does not count.", "/apis/apps/v1/namespaces/team-a/deployments/b", false},
		"Elsewhere":   {"The deletion in another namespace does not count.", "/apis/apps/v1/namespaces/team-b/deployments/a", false},
		"Kind":        {"The deletion of another kind does not count.", "/apis/apps/v1/namespaces/team-a/replicasets/a", false},
		"Subresource": {"The deletion of a subresource does not count.", "/apis/apps/v1/namespaces/team-a/deployments/a/scale", false},
	} {
		t.Run(name, func(t *testing.T) {
			run := runner.Spec{Object: runner.Object{Namespace: "team-a", Name: "site", UID: "1-2"}, Inputs: inputs.Inputs{Kubernetes: &k}}
			p, way := openedFor(t, run, events.NewRecorder(events.Options{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("refuse") {
					w.WriteHeader(http.StatusForbidden)
				}
			}))

			do(t, way, http.MethodDelete, tc.path, typeJSON, "")

			if got := p.hasDeleted(deployments, "a"); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
