package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// cacheOperator is the project of an operator, but for what the page about moving it shows.
// Its role is that of an operator: nothing in it knows of Crossplane.
var cacheOperator = map[string]string{
	"README.md": "An operator for caches.\n",
	"config/crd/bases/cache.example.org_caches.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: caches.cache.example.org}
spec:
  group: cache.example.org
  names: {kind: Cache, listKind: CacheList, plural: caches, singular: cache}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              size: {type: integer, minimum: 0}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`,
	"config/default/kustomization.yaml": "namespace: cache-operator-system\nnamePrefix: cache-operator-\n",
	"config/rbac/service_account.yaml":  "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: controller-manager, namespace: system}\n",
	"config/manager/manager.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager, namespace: system}
spec: {template: {spec: {containers: [{name: manager, image: controller, env: [{name: ANSIBLE_GATHERING, value: explicit}]}]}}}
`,
	"roles/cache/defaults/main.yml": "state: present\nsize: 1\nmax_memory: 64Mi\n",
	"roles/cache/tasks/main.yml": `
- name: Run the servers
  kubernetes.core.k8s:
    state: "{{ state }}"
    definition:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "{{ ansible_operator_meta.name }}-cache", namespace: "{{ ansible_operator_meta.namespace }}"}
      spec:
        replicas: "{{ size | int }}"
        selector: {matchLabels: {cache: "{{ ansible_operator_meta.name }}"}}
        template:
          metadata: {labels: {cache: "{{ ansible_operator_meta.name }}"}}
          spec: {containers: [{name: server, image: "{{ image }}", args: ["--memory={{ max_memory }}"]}]}
- name: Remove what only the operator knows of
  kubernetes.core.k8s:
    {state: absent, api_version: v1, kind: ConfigMap, name: "{{ ansible_operator_meta.name }}-keys", namespace: "{{ ansible_operator_meta.namespace }}"}
  when: state == 'absent'
- name: Tell how many there are
  operator_sdk.util.k8s_status:
    api_version: cache.example.org/v1alpha1
    kind: Cache
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    status: {servers: "{{ size | int }}"}
    conditions: [{type: Filled, status: "True", reason: Warm, message: "{{ max_memory }}"}]
`,
}

// fakeUtil stands in for the collection operator_sdk.util.
var fakeUtil = collection{Namespace: "operator_sdk", Name: "util", Version: "0.5.0", Files: map[string]string{
	"plugins/modules/k8s_status.py": fakeStatusModule,
	"meta/runtime.yml":              "requires_ansible: '>=2.15.0'\n",
}}

// cacheOperatorRuns is what the operator and its users have in the cluster before the move.
const cacheOperatorRuns = `
apiVersion: v1
kind: Namespace
metadata: {name: cache-operator-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: cache-operator-system, name: cache-operator-controller-manager}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cache-operator-manager-role}
rules:
- {apiGroups: ["", apps], resources: [configmaps, deployments], verbs: ["*"]}
- {apiGroups: [cache.example.org], resources: [caches, caches/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cache-operator-manager-rolebinding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cache-operator-manager-role}
subjects: [{kind: ServiceAccount, namespace: cache-operator-system, name: cache-operator-controller-manager}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: cache-operator-system, name: cache-operator-controller-manager}
spec:
  selector: {matchLabels: {app: operator}}
  template: {metadata: {labels: {app: operator}}, spec: {containers: [{name: manager, image: example.org/operator}]}}
`

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

// TestMoveOperator moves an operator with the commands of the page about that: its API, its
// objects and its roles stay as they are.
func TestMoveOperator(t *testing.T) {
	needs.Built(t, "test-e2e", kubernetesCore)
	t.Parallel()

	yaml, commands := movePage(t)

	namespace := cp.Namespace(t)
	shop := Object{APIVersion: "cache.example.org/v1alpha1", Kind: "Cache", Namespace: namespace, Name: "shop"}
	keys := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "shop-keys"}
	servers := Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: "shop-cache"}
	data := map[string]string{"Namespace": namespace}

	// What there is before: the operator has made a Deployment, and not all that it has made is owned.
	cp.Apply(t, cacheOperatorRuns, nil)
	cp.Apply(t, cacheOperator["config/crd/bases/cache.example.org_caches.yaml"], nil)
	cp.WaitFor(t, Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "caches.cache.example.org"}, Condition("Established", "True"))
	cp.Apply(t, `
apiVersion: cache.example.org/v1alpha1
kind: Cache
metadata: {namespace: [[.Namespace]], name: shop, finalizers: [cache.example.org/finalizer]}
spec: {size: 2, maxMemory: 1Gi}
`, data)

	before := cp.Get(t, shop)

	data["UID"] = string(before.GetUID())
	cp.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: [[.Namespace]]
  name: shop-cache
  ownerReferences: [{apiVersion: cache.example.org/v1alpha1, kind: Cache, name: shop, uid: [[.UID]]}]
spec:
  replicas: 1
  selector: {matchLabels: {cache: shop}}
  template: {metadata: {labels: {cache: shop}}, spec: {containers: [{name: server, image: memcached}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: shop-keys}
`, data)

	deployed := cp.Get(t, servers).GetUID()

	// The project, and where it is published. Collections come from a server of this test.
	hub := sources.NewGalaxy()
	must(t, hub.Publish(kubernetesCore))
	must(t, hub.Publish(fakeUtil.Tarball(t)))
	galaxy := startSource(t, hub, sources.Options{}).URL

	sh := newShell(t, "GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.org")
	bare := filepath.Join(sh.Dir, "published.git")

	sh.Run(t, "git init --quiet --bare --initial-branch=main "+bare+" && git clone --quiet "+bare+" cache-operator")
	writeFiles(t, filepath.Join(sh.Dir, "cache-operator"), cacheOperator)
	sh.Write(t, "cache-operator/watches.yaml", yaml[0])
	sh.Write(t, "cache-operator/requirements.yml", "collections:\n- {name: operator_sdk.util, version: 0.5.0, source: '"+galaxy+"'}\n- {name: kubernetes.core, version: 6.6.0, source: '"+galaxy+"'}\n")
	sh.Run(t, "cd cache-operator && git add --all && git commit --quiet --message='The operator'")

	examples, err := filepath.Abs("../../examples")
	must(t, err)

	run := func(commands string) string {
		t.Helper()
		return sh.Run(t, strings.NewReplacer("https://git.example.org/acme/cache-operator.git", "git+file://"+bare, "examples/", examples+"/").Replace(commands))
	}

	// As the page says.
	sh.Write(t, "cache-operator/galaxy.yml", yaml[1])
	run(commands[0])
	run(commands[1])

	if composition := readFile(t, filepath.Join(sh.Dir, "apis/caches/composition.yaml")); !strings.Contains(composition, yaml[2]) {
		t.Errorf("scaffold should write what the page shows: want\n%s\ngot\n%s", yaml[2], composition)
	}

	run(commands[2])
	run(commands[3])
	run(commands[4])
	run(commands[5])
	t.Cleanup(func() { cp.CleanUp(t, shop) })
	run(commands[6])

	u := cp.WaitFor(t, shop, Condition("Ready", "True"), Condition("Successful", "True"), Condition("Failure", "False"),
		Condition("Filled", "True"), Message("Filled", "1Gi"), Field("status.servers", int64(2)))

	if u.GetUID() != before.GetUID() {
		t.Error("The object should be the one from before.")
	}

	if d := cp.WaitFor(t, servers, Field("spec.replicas", int64(2))); d.GetUID() != deployed {
		t.Error("So should be what the operator has made.")
	}

	// The API works as before.
	sh.Run(t, "kubectl patch cache shop --namespace="+namespace+` --type=merge --patch='{"spec": {"size": 3}}'`)
	cp.WaitFor(t, servers, Field("spec.replicas", int64(3)))
	cp.WaitFor(t, shop, Condition("Successful", "True"), Field("status.servers", int64(3)))

	// What the finalizer was for. The role sets the status of an object that is gone then.
	composed := cp.Composed(t, shop)

	sh.Run(t, "kubectl delete cache shop --namespace="+namespace+" --timeout=2m")
	cp.WaitGone(t, keys)
	cp.WaitGone(t, servers)

	for _, o := range composed {
		cp.WaitGone(t, o)
	}
}
