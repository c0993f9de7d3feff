package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// The functions that stand beside ours in pipelines. The one for environments is
// a stand-in, see test/environment.
const (
	functionAutoReady    = "function-auto-ready"
	functionEnvironments = "function-environment-configs"
	functionPatches      = "function-patch-and-transform"
)

// pipeline has other functions before and after ours. The first adds to the
// environment, and composes what is not ours; the second patches what is.
func pipeline() string {
	return definition{
		kind: "Pipeline", scope: "Namespaced",
		spec:   "title: {type: string}, team: {type: string}, directory: {type: string}, late: {type: string}",
		status: "path: {type: string}, settings: {type: string}, copied: {type: string}",
	}.String() + `
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: [[.Composition]]}
data: {region: eu, site: {domain: example.org}}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: pipelines, namespace: [[.Namespace]]}
spec: {}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: [[.Composition]]}
spec:
  compositeTypeRef: {apiVersion: e2e.example.org/v1, kind: Pipeline}
  mode: Pipeline
  pipeline:
  - step: environment
    functionRef: {name: function-environment-configs}
    input:
      apiVersion: environmentconfigs.fn.crossplane.io/v1beta1
      kind: Input
      spec:
        environmentConfigs:
        - {type: Reference, ref: {name: [[.Composition]]}}
  - step: before
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      environment:
        patches:
        - {type: FromCompositeFieldPath, fromFieldPath: spec.team, toFieldPath: team}
      resources:
      - name: settings
        base: {apiVersion: v1, kind: ConfigMap}
        patches:
        - {type: FromCompositeFieldPath, fromFieldPath: spec.title, toFieldPath: data.title}
        - {type: FromEnvironmentFieldPath, fromFieldPath: region, toFieldPath: data.region}
        - {type: ToCompositeFieldPath, fromFieldPath: metadata.name, toFieldPath: status.settings}
      - name: theirs
        base:
          apiVersion: ansible.m.crossplane.io/v1alpha1
          kind: AnsibleRun
          spec:
            providerConfigRef: {kind: ProviderConfig, name: pipelines}
            forProvider:
              playbookInline: |
                - {hosts: localhost, gather_facts: false, tasks: [{ansible.builtin.meta: noop}, {ansible.builtin.debug: {msg: theirs}}]}
  - step: ansible
    functionRef: {name: function-ansible}
    input:
      apiVersion: ansible.fn.crossplane.io/v1alpha1
      kind: AnsibleRuns
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: pipelines}
        vars: {directory: "${xr.spec.directory}"}
      runs:
      - name: page
        labels: {app: page}
        vars: {name: "${xr.spec.title} of ${environment.team} in ${environment.region} at ${environment.site.domain}"}
        playbookInline: &page |
          - hosts: localhost
            gather_facts: false
            tasks:
            - ansible.builtin.shell: echo {{ name | quote }} >> {{ directory | quote }}/ledger
            - ansible.builtin.set_stats: {data: {path: "{{ directory }}/ledger"}}
      - name: next
        dependsOn: [page]
        vars: {name: next}
        playbookInline: *page
      - name: late
        vars: {name: "${xr.spec.late}"}
        playbookInline: *page
      status:
        path: "${runs.page.outputs.path}"
  - step: after
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: page
        patches:
        - {type: FromCompositeFieldPath, fromFieldPath: spec.team, toFieldPath: "metadata.labels[team]"}
        - {type: FromEnvironmentFieldPath, fromFieldPath: region, toFieldPath: "metadata.annotations[example.org/region]"}
        - {type: ToCompositeFieldPath, fromFieldPath: status.atProvider.outputs.path, toFieldPath: status.copied}
  - step: ready
    functionRef: {name: function-auto-ready}
---
apiVersion: e2e.example.org/v1
kind: Pipeline
metadata: {name: site, namespace: [[.Namespace]]}
spec:
  crossplane: {compositionRef: {name: [[.Composition]]}}
  title: Hello
  team: blue
  directory: [[.Directory]]
  [[- if .Late]]
  late: [[.Late]]
  [[- end]]
`
}

type pipelineData struct{ Composition, Namespace, Directory, Late string }

// TestPipeline runs our function between functions that most Compositions use, unchanged. One adds to an AnsibleRun, which
// ours still recognizes as what it has rendered, and another one decides what is ready.
func TestPipeline(t *testing.T) {
	t.Parallel()
	cp.Functions(t, functionAutoReady, functionEnvironments, functionPatches)

	d := pipelineData{Composition: "pipelines", Namespace: cp.Namespace(t), Directory: directory(t)}
	objs := cp.Apply(t, pipeline(), d)
	xr := objs[len(objs)-1]
	ledger := filepath.Join(d.Directory, "ledger")

	// Everything that is composed gets ready, but not all of it is there.
	u := cp.WaitFor(t, xr, Reason("AnsibleRunsReady", "ValueNotSet"), Condition("Ready", "False"), Field("status.path", ledger), Field("status.copied", ledger),
		That("all but one composed", func(u *unstructured.Unstructured) bool { return len(ComposedOf(u)) == 5 }))

	for _, o := range ComposedOf(u) {
		if o.Kind == "AnsibleRun" {
			cp.WaitFor(t, o, Condition("Ready", "True"))
		}
	}

	settings := composedAs(t, u, "settings")
	if Value(settings, "data.title") != "Hello" || Value(settings, "data.region") != "eu" {
		t.Errorf("What others compose should pass through, got %v", Value(settings, "data"))
	}

	d.Late = "late"
	cp.Apply(t, pipeline(), d)
	cp.WaitFor(t, xr, Condition("AnsibleRunsReady", "True"), Condition("Ready", "True"),
		Field("status.path", ledger), Field("status.copied", ledger), Field("status.settings", settings.GetName()))

	page := composedAs(t, u, "page")
	if l := page.GetLabels(); l["team"] != "blue" || l["app"] != "page" || page.GetAnnotations()["example.org/region"] != "eu" {
		t.Errorf("A later step should add to a run, got labels %v and annotations %v", l, page.GetAnnotations())
	}

	if want, got := []string{"Hello-of-blue-in-eu-at-example.org", "next", "late"}, lines(t, d.Directory); !slices.Equal(want, got) {
		t.Errorf("Everything should have run once, in order, with the environment: want %q, got %q", want, got)
	}
}

// composedAs is what an XR has composed under a name in its pipeline.
func composedAs(t *testing.T, xr *unstructured.Unstructured, name string) *unstructured.Unstructured {
	t.Helper()

	for _, o := range ComposedOf(xr) {
		if u := cp.Get(t, o); u.GetAnnotations()["crossplane.io/composition-resource-name"] == name {
			return u
		}
	}
	t.Fatalf("%s has composed no %s", xr.GetName(), name)

	return nil
}
