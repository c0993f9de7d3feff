package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

const (
	// sampleModule has the sample of the Operator SDK, which was not written for this project.
	sampleModule = "github.com/operator-framework/ansible-operator-plugins"
	// sampleOperator is the name of its project.
	sampleOperator = "memcached-molecule-operator"
)

// sampleCollections are those of its requirements.yml that a registry of packages has, and what one of them requires.
var sampleCollections = []string{
	"../../.cache/collections/kubernetes-core-3.2.0.tar.gz",
	"../../.cache/collections/cloud-common-3.0.0.tar.gz",
	"../../.cache/collections/community-docker-3.12.1.tar.gz",
	"../../.cache/collections/community-library_inventory_filtering_v1-1.0.1.tar.gz",
}

// movePage returns the blocks of YAML and of commands of the page about moving an operator.
func movePage(t *testing.T) (yaml, commands []string) {
	t.Helper()

	for _, m := range fences.FindAllStringSubmatch(readFile(t, "../../docs/move-operator.md"), -1) {
		if m[1] == "yaml" {
			yaml = append(yaml, m[2])
		} else {
			commands = append(commands, m[2])
		}
	}

	if len(yaml) != 3 || len(commands) != 7 {
		t.Fatalf("the page has other blocks than the tests know: %d of YAML, %d of commands", len(yaml), len(commands))
	}

	return yaml, commands
}

// TestMoveSample moves the sample of the Operator SDK by the commands of the page about moving an operator. The test
// removes only the tasks that send metrics from its project. There is no node: its servers are deployed, but do not run.
func TestMoveSample(t *testing.T) {
	t.Parallel()
	needs.Built(t, "test-e2e", sampleCollections...)

	namespace := cp.Namespace(t)
	cache := Object{APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Namespace: namespace, Name: "memcached-sample"}
	foo := Object{APIVersion: cache.APIVersion, Kind: "Foo", Namespace: namespace, Name: "foo-sample"}
	fin := Object{APIVersion: cache.APIVersion, Kind: "Memfin", Namespace: namespace, Name: "memfin-sample"}
	servers := Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: "memcached-sample-memcached"}

	s := newShell(t, "GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.org")
	bare := filepath.Join(s.Dir, "published.git")
	marks, err := os.MkdirTemp("/var/tmp", "sample-") //nolint:usetesting // Content may write to the directories of tests.
	needs.OK(t, err)
	t.Cleanup(func() { needs.OK(t, os.RemoveAll(marks)) })
	examples, err := filepath.Abs("../../examples")
	needs.OK(t, err)

	// page runs a block of commands of the page for the operator and the kind of the sample.
	yaml, commands := movePage(t)
	page := func(command int) {
		t.Helper()
		s.Run(t, strings.NewReplacer(
			"https://git.example.org/acme/cache-operator.git", "git+file://"+bare, "examples/", examples+"/",
			"cache-operator", sampleOperator, "caches.cache.example.org", "memcacheds.cache.example.com", "cache.example.org", "cache.example.com",
			"patch cache ", "patch memcached ", "caches", "memcacheds",
		).Replace(commands[command]))
	}

	// The git repository of the project. A directory of this test replaces /tmp, where the role creates a file once.
	s.Run(t, "git init --quiet --bare --initial-branch=main "+bare+" && git clone --quiet "+bare+" "+sampleOperator)
	needs.OK(t, os.CopyFS(filepath.Join(s.Dir, sampleOperator),
		os.DirFS(filepath.Join(needs.Module(t, "../tools/operator", sampleModule), "testdata", sampleOperator))))
	s.Run(t, "cd "+sampleOperator+" && sed -i '/^    # Sanity/,/^  when: not metricsbumped/{/^  when/!d}; s|/tmp/|"+marks+"/|' roles/memcached/tasks/main.yml && "+
		"git add --all && git commit --quiet --message='The operator'")
	s.Write(t, sampleOperator+"/galaxy.yml", yaml[1])

	// The Makefile of the operator installs these, and monitoring, whose kinds are missing here.
	s.Write(t, "kustomization.yaml", "namespace: "+sampleOperator+"-system\nnamePrefix: "+sampleOperator+"-\nresources:\n"+
		"- "+sampleOperator+"/config/crd\n- "+sampleOperator+"/config/rbac\n- "+sampleOperator+"/config/manager\n")
	cp.Apply(t, s.Run(t, "kubectl kustomize ."), nil)
	s.Run(t, "cd "+sampleOperator+"/config/samples && for file in cache_*.yaml; do kubectl apply --namespace="+namespace+" --filename=$file; done")
	s.Run(t, "kubectl patch memcached memcached-sample --namespace="+namespace+` --type=merge --patch='{"metadata": {"finalizers": ["cache.example.com/finalizer"]}}'`)

	before := cp.Get(t, cache)

	// Collections come from a server of this test, and the project from its disk.
	hub := sources.NewGalaxy(t, append(slices.Clone(sampleCollections), fakeOperatorSDK().Tarball(t))...)

	page(0)
	page(1)
	s.Run(t, "sed -i 's|^spec:$|&\\n  vars: {ANSIBLE_GALAXY_SERVER: "+served(t, hub)+"}\\n  confinement: {readPaths: ["+bare+"]}|' apis/*/providerconfig.yaml")
	page(2)
	page(3)
	page(4)

	for _, o := range []Object{
		{APIVersion: "ops.crossplane.io/v1alpha1", Kind: "WatchOperation", Name: "acme-cache-secrets"},
		cache, foo, fin,
	} {
		t.Cleanup(func() { cp.CleanUp(t, o) })
	}

	page(5)
	cp.WaitFor(t, foo, Condition("Ready", "True"), Condition("Successful", "True"))
	cp.WaitFor(t, fin, Condition("Ready", "True"), Condition("Successful", "True"))

	// What a comment in the Composition says of the role.
	cp.WaitFor(t, cache, Condition("Failure", "True"), Message("Failure", "could not touch target: [Errno 13] Permission denied: b'"+marks+"/metricsbumped'"))
	s.Run(t, `kubectl patch clusterproviderconfig.ansible.m.crossplane.io memcacheds.cache.example.com --type=merge --patch='{"spec": {"confinement": {"writePaths": ["`+marks+`"]}}}'`)
	page(6)

	u := cp.WaitFor(t, cache, Condition("Ready", "True"), Condition("Failure", "False"), Field("status.test", "hello world"))
	if u.GetUID() != before.GetUID() {
		t.Error("The object should be the one from before.")
	}

	run := ComposedOf(u)[0]
	owned := That("owned by the AnsibleRun", func(u *unstructured.Unstructured) bool {
		owners := u.GetOwnerReferences()
		return len(owners) == 1 && owners[0].Kind == run.Kind && owners[0].Name == run.Name
	})
	secret := Object{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: "test-secret"}
	text := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "test-blacklist-watches"}

	cp.WaitFor(t, servers, owned, Field("spec.replicas", int64(1)))
	cp.WaitFor(t, secret, owned)
	cp.WaitFor(t, text, owned)

	// The API works as before, and so does the watch of what the role makes.
	s.Run(t, "kubectl patch memcached memcached-sample --namespace="+namespace+` --type=merge --patch='{"spec": {"size": 2}}'`)
	cp.WaitFor(t, servers, Field("spec.replicas", int64(2)))
	cp.WaitFor(t, cache, Condition("Successful", "True"))
	cp.Delete(t, servers)
	cp.WaitFor(t, servers, owned, Field("spec.replicas", int64(2)))
	cp.WaitFor(t, cache, Condition("Successful", "True"))

	// The role of a Secret makes an object in a namespace that it names.
	service := Object{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "test-service"}
	ofSecret := Object{APIVersion: run.APIVersion, Kind: run.Kind, Namespace: sampleOperator + "-system", Name: "secret-" + namespace + ".watched"}

	for _, o := range []Object{service, ofSecret} {
		t.Cleanup(func() { cp.CleanUp(t, o) })
	}

	cp.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {namespace: [[.]], name: watched, labels: {ansible.fn.crossplane.io/watched-by: acme-cache}}}`, namespace)
	cp.WaitFor(t, ofSecret, Condition("Ready", "True"))
	cp.WaitFor(t, service, Field("metadata.annotations.operator-sdk/primary-resource-type", "AnsibleRun.ansible.m.crossplane.io"))

	// The role of the finalizer removes this one.
	deleted := cp.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: deleteme}}`, nil)[0]

	s.Run(t, "kubectl delete memcached memcached-sample --namespace="+namespace+" --cascade=foreground --timeout=10m")

	for _, o := range []Object{deleted, servers, secret, text} {
		cp.WaitGone(t, o)
	}
}

// fakeOperatorSDK has two modules of the collection operator_sdk.util, which is on no registry of packages: they
// send the requests, and return the results, that the real ones do.
func fakeOperatorSDK() collection {
	return collection{Namespace: "operator_sdk", Name: "util", Version: "0.5.0", Files: map[string]string{
		"plugins/modules/requeue_after.py": `
from ansible.module_utils.basic import AnsibleModule
m = AnsibleModule({"time": {"type": "str", "required": True}})
m.exit_json(period=m.params["time"])
`,
		"plugins/modules/k8s_status.py": fakeStatusModule,
	}}
}

// fakeStatusModule decides what to send as the module k8s_status does: nothing if the XR has all of it already, whenever
// its conditions became so, and all conditions that the XR has with another one.
const fakeStatusModule = `
from ansible.module_utils.basic import AnsibleModule
from kubernetes import config, dynamic


def has(there, part):
    if isinstance(part, dict):
        return isinstance(there, dict) and all(has(there.get(k), v) for k, v in part.items())
    if isinstance(part, list):
        return isinstance(there, list) and all(item in there for item in part)
    return there == part


def main():
    m = AnsibleModule(
        {"api_version": {}, "kind": {}, "name": {}, "namespace": {}, "status": {"type": "dict"}, "conditions": {"type": "list", "elements": "dict"}},
        supports_check_mode=True)
    p = m.params
    mine = p["status"] or {}
    if p["conditions"]:
        mine["conditions"] = p["conditions"]
    r = dynamic.DynamicClient(config.new_client_from_config()).resources.get(api_version=p["api_version"], kind=p["kind"])
    o = r.get(name=p["name"], namespace=p["namespace"]).to_dict()
    there = o.get("status") or {}
    timeless = dict(there)
    if "conditions" in there:
        timeless["conditions"] = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in there["conditions"]]
    if has(timeless, mine):
        m.exit_json(changed=False, result=o)
    if there.get("conditions") and mine.get("conditions"):
        new = [c["type"] for c in mine["conditions"]]
        mine["conditions"] = [c for c in there["conditions"] if c["type"] not in new] + mine["conditions"]
    o["status"] = mine
    m.exit_json(changed=True, result=r.status.patch(body=o, content_type="application/merge-patch+json").to_dict())


if __name__ == "__main__":
    main()
`
