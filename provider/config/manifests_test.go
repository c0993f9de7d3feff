package config

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestManifestsAdd(t *testing.T) {
	const others = `
apiVersion: v1
kind: Namespace
metadata: {name: x}
---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: x}
spec: {}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: Approval
metadata: {name: "1"}
spec: {}
---
apiVersion: v1
kind: Pod
`

	for name, tc := range map[string]struct {
		reason, text, want string
		ignored            []string
	}{
		"Empty":        {"Empty documents and comments are ignored.", "---\n# nothing\n---\n", "", nil},
		"UnknownField": {"A misspelt field is not ignored.", clusterConfig + "---" + clusterRun + "spec: {forProvider: {role: a.b, limt: web}}", `document 2: spec.forProvider.limt: Forbidden: there is no such field (did you mean "limit"?)`, nil},
		"Invalid": {
			"An object that the API server would refuse is an error.", clusterRun + "spec: {forProvider: {role: a.b, project: {src: 'ext::sh -c id'}}}",
			"document 1: spec.forProvider.project.src: Invalid value: \"ext::sh -c id\": must be a URL such as https://git.example.org/acme/site.git, or user@host:path", nil,
		},
		"OtherKinds":   {"Objects that no run refers to, but that a file for kubectl apply may have, are ignored.", others, "", []string{"Namespace x", "CompositeResourceDefinition x", "Approval 1", "Pod"}},
		"MisspeltKind": {"An unknown kind of these groups is an error, since it is misspelt.", "apiVersion: ansible.m.crossplane.io/v1alpha1\nkind: AnsibleRuns\nmetadata: {name: x}", "document 1: ansible.m.crossplane.io/v1alpha1 has no kind AnsibleRuns", nil},
		"NoKind":       {"A document that is no object, such as the values of a chart, is not quoted: it may have passwords.", "password: secret", "document 1: is not an object of Kubernetes: it has no apiVersion and kind", nil},
		"NoYAML":       {"A template that was not rendered is not valid YAML.", "kind: {{ .kind }}\nx: : y", "document 1: is not valid YAML: yaml: line 2: mapping values are not allowed in this context", nil},
		"List":         {"kubectl get prints several objects as a List.", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret}", "document 1: /v1, Kind=Secret: metadata.name must be set", nil},
		"Lists":        {"Lists may be in a List.", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret}]}", "document 1: /v1, Kind=Secret: metadata.name must be set", nil},
		"ListNoKind":   {"An item of a List that is no object is an error.", "apiVersion: v1\nkind: List\nitems:\n- {password: secret}", "document 1: is not an object of Kubernetes: it has no apiVersion and kind", nil},
		"Twice":        {"Two objects of one name are ambiguous.", clusterConfig + "---" + clusterConfig, `document 2: ProviderConfig "default" is given twice`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want != "" {
				tc.want = "run.yaml, " + tc.want
			}

			m := manifests(t)
			if diff := cmp.Diff(tc.want, needs.Message(m.Add("run.yaml", strings.NewReader(tc.text)))); diff != "" {
				t.Errorf("\n%s\nAdd(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.ignored, m.Ignored); diff != "" {
				t.Errorf("\n%s\nIgnored(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestManifestsGet(t *testing.T) {
	m := manifests(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {k: djE=, l: djI=}\nstringData: {k: v3}")
	key := types.NamespacedName{Namespace: "default", Name: "a"}

	s := &corev1.Secret{}
	needs.OK(t, m.Get(t.Context(), key, s))

	want := map[string][]byte{"k": []byte("v3"), "l": []byte("v2")}
	if diff := cmp.Diff(want, s.Data); diff != "" {
		t.Errorf("\nstringData wins over data, and the namespace is the default one.\nGet(...): -want, +got:\n%s", diff)
	}

	s.Data["k"][0] = 'x'

	again := &corev1.Secret{}
	needs.OK(t, m.Get(t.Context(), key, again))

	if diff := cmp.Diff(want, again.Data); diff != "" {
		t.Errorf("\nGet returns a copy.\nGet(...): -want, +got:\n%s", diff)
	}

	if err := m.Get(t.Context(), key, &corev1.ConfigMap{}); !kerrors.IsNotFound(err) {
		t.Errorf("\nAn object of another kind with the same name is not found.\nGet(...): want not found, got %v", err)
	}
}

// TestRepositories checks which URLs of repositories the CRD accepts. The provider does not check them again.
func TestRepositories(t *testing.T) {
	for src, want := range map[string]bool{
		"https://git.example.org/a.git": true, "git+https://git.example.org/a": true, "ssh://git@git.example.org:22/a": true, "git@git.example.org:a/b.git": true,
		"file:///srv/a.git": true,
		"":                  false, "/srv/a.git": false, "../a": false, "a.git": false, "ext::sh": false, "git@ext::sh": false, "fd::17": false,
		"https://-oProxyCommand=id/a": false, "ssh://-oProxyCommand=id/a": false, "git@git.example.org:-x": false, "-u@git.example.org:a": false,
		"https://git.example.org/a b": false, "https://git.example.org/a\n": false, "git://git.example.org/a": false, "a/b@c:d": false,
		"ssh://git:s3cretpassword@git.example.org/a": false, "https://0123456789abcdef@git.example.org/a": false,
	} {
		run := clusterRun + "spec: {forProvider: {playbook: site.yml, project: {src: " + strconv.Quote(src) + "}}}"
		if err := manifests(t).Add("run.yaml", strings.NewReader(run)); (err == nil) != want {
			t.Errorf("%q: %v, want it to be valid: %t", src, err, want)
		}
	}
}

// TestTenants checks which fields the CRD refuses in configurations of namespaces. The provider does not check them
// again.
func TestTenants(t *testing.T) {
	for field, spec := range map[string]string{
		"execution.podTemplate":                  "{execution: {place: Pod, podTemplate: {}}}",
		"execution.annotations":                  "{execution: {place: Pod, annotations: {container.apparmor.security.beta.kubernetes.io/run: unconfined}}}",
		"execution.namespace":                    "{execution: {place: Pod, namespace: other}}",
		"kubernetes.serviceAccountRef.namespace": "{kubernetes: {serviceAccountRef: {name: a, namespace: other}}}",
		"confinement":                            "{confinement: {readPaths: [/srv]}}",
	} {
		want := "only cluster scoped configurations may have " + field
		if err := manifests(t).Add("c.yaml", strings.NewReader(namespacedConfig+"spec: "+spec)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}

		if err := manifests(t).Add("c.yaml", strings.NewReader(clusterProviderConfig+"spec: "+spec)); err != nil {
			t.Errorf("A shared configuration may have %s: %v", field, err)
		}
	}
}
