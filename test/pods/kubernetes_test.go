package pods

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// deployer is an account that may do a few things in its namespace, among them with a Pod that serves files.
const deployer = `
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: [[.Namespace]], name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: [[.Namespace]], name: deployer}
rules:
- {apiGroups: [""], resources: [configmaps, pods, pods/exec, pods/log, pods/portforward], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: [[.Namespace]], name: deployer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}
subjects: [{kind: ServiceAccount, namespace: [[.Namespace]], name: deployer}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: [[.Namespace]], name: web}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: web, image: [[.Image]], imagePullPolicy: Never, command: [python3, -u, -m, http.server, "8080", --directory, /etc]}]
---`

// managing is a run in a Pod with a play that manages the cluster with the rights of an account, and executes a
// command in another Pod. It then waits at the gate.
const managing = deployer + config + theRun + `
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]", namespace: [[.Namespace]]}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        vars:
          kubeconfig: "{{ lookup('file', lookup('env', 'KUBECONFIG')) | from_yaml }}"
          server: "{{ kubeconfig.clusters[0].cluster.server }}"
        module_defaults:
          ansible.builtin.uri:
            method: POST
            headers: {Authorization: "Bearer {{ kubeconfig.users[0].user.token }}"}
            body_format: json
            status_code: [201, 409]
            validate_certs: false
        tasks:
        - name: Say who the run is
          ansible.builtin.uri:
            url: "{{ server }}/apis/authentication.k8s.io/v1/selfsubjectreviews"
            body: {apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}
          register: who
        - name: Make an object
          ansible.builtin.uri:
            url: "{{ server }}/api/v1/namespaces/{{ namespace }}/configmaps"
            body: {apiVersion: v1, kind: ConfigMap, metadata: {name: site}, data: {title: Hello}}
        - name: Execute a command in a Pod
          ansible.builtin.command:
            argv: ["{{ ansible_playbook_python }}", "-"]
            stdin: |
              from kubernetes import client, config
              from kubernetes.stream import stream
              config.load_kube_config()
              print(stream(client.CoreV1Api().connect_get_namespaced_pod_exec, "web", "{{ namespace }}",
                           command=["cat", "/etc/hostname"], stdin=False, stdout=True, stderr=True, tty=False).strip())
          register: executed
          until: executed is success
          retries: 30
          delay: 1
        - name: Read the token of the account
          ansible.builtin.shell: cat /var/run/secrets/ansible.crossplane.io/run/token && echo read
          failed_when: false
          register: stolen
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/begin', ledger ~ '/gate/present') }}"}
        - ansible.builtin.set_stats:
            data:
              user: "{{ who.json.status.userInfo.username }}"
              executed: "{{ executed.stdout }}"
              stolen: "{{ 'read' in stolen.stdout }}"
`

// kubernetesScene is a scene with a Pod beside the run, and programs on this machine.
type kubernetesScene struct {
	*scene

	Image, Kubectl string
}

// TestKubernetes has a run in a Pod manage the cluster with the rights of an account: what it makes belongs to its
// AnsibleRun and is watched. The leader renews the token of the run, which ends with the run.
func TestKubernetes(t *testing.T) {
	s := newScene(t)
	must(t, cp.Stack.AllowTokens(t.Context(), s.Namespace))
	s.Config = "kubernetes: {serviceAccountRef: {name: deployer}, ownerReferences: true, watchDependents: true}"
	user := "system:serviceaccount:" + s.Namespace + ":deployer"

	cp.Apply(t, managing, kubernetesScene{scene: s, Image: controlplane.ProviderImage})
	s.Await(t, 1, "begin")

	token := s.token(t)
	if got := reviewed(t, token); got != user {
		t.Errorf("The token of the run should be that of the account, got that of %q", got)
	}

	// Another provider renews the token of the run that it follows.
	cp.Provider.Restart(t)
	Eventually(t, "a new token", func() bool { return s.token(t) != token })

	s.Open("present")
	s.ready(t, Field("status.atProvider.outputs.user", user), Field("status.atProvider.outputs.executed", "web"), Field("status.atProvider.outputs.stolen", false),
		That("what it has made is known", func(u *unstructured.Unstructured) bool {
			kinds, _ := Value(u, "status.atProvider.dependents").([]any)
			return len(kinds) == 1
		}))
	s.nothingLeft(t, "web")

	// The API server remembers for some seconds which user a token was for.
	Eventually(t, "the token of the run to be worth nothing", func() bool { return reviewed(t, token) == "" })

	made := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.Namespace, Name: "site"}
	if owners := cp.Get(t, made).GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "AnsibleRun" || owners[0].Name != "run" {
		t.Errorf("want the AnsibleRun as the owner, got %v", owners)
	}

	cp.Delete(t, made)
	cp.WaitFor(t, s.run(), Field("status.atProvider.lastRun.trigger", "Dependents"), Field("status.atProvider.lastRun.phase", "Succeeded"))
	cp.Get(t, made)
}

// token of the run in progress.
func (s *scene) token(t *testing.T) string {
	t.Helper()

	for _, secret := range s.secrets(t) {
		if token := secret.Data["token"]; token != nil {
			return string(token)
		}
	}

	t.Fatal("The run has no token.")

	return ""
}

// reviewed is the user that a token is for; empty if it is worth nothing.
func reviewed(t *testing.T, token string) string {
	t.Helper()

	r := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	must(t, cp.Kube.Create(t.Context(), r))

	return r.Status.User.Username
}

// kubectl is a run in the provider. Its play does with kubectl what takes more than a request and its answer.
const kubectl = deployer + config + theRun + `
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        vars:
          apply: |
            for title in Hello Bye; do
              kubectl create configmap "$1" --from-literal=title=$title --dry-run=client -o yaml | kubectl apply $2 -f -
            done
            kubectl get configmap "$1" -o jsonpath='{.data.title}'
        tasks:
        - ansible.builtin.shell: |
            set -e
            kubectl() { [[.Kubectl]] "$@"; }
            kubectl wait --for=condition=Ready pod/web --timeout=60s >&2
            case {{ item }} in
            exec) echo hello | kubectl exec -i web -- cat ;;
            # The streams have no order among each other.
            tty) { kubectl exec web -- sh -c 'echo out; echo err >&2; exit 3' 2>&1 || echo "status $?"; } | sort ;;
            copy) kubectl exec web -- tar cf - -C /etc hostname | tar xOf - ;;
            logs)
              timeout 120 kubectl logs -f web >log & follower=$!
              until grep -q 'GET /marker' log; do
                kill -0 $follower
                kubectl exec web -- python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:8080/marker")' 2>/dev/null || sleep 0.1
              done
              kill $follower
              grep -o -m1 'GET /marker' log ;;
            forward)
              timeout 120 kubectl port-forward pod/web :8080 >log & forwarder=$!
              until grep -q Forwarding log; do kill -0 $forwarder; sleep 0.1; done
              {{ ansible_playbook_python }} -c 'import sys, urllib.request as u; print(u.urlopen("http://" + sys.argv[1] + "/hostname").read().decode())' "$(grep -o -m1 '127.0.0.1:[0-9]*' log)"
              kill $forwarder ;;
            apply) {{ apply | replace('"$1"', 'client') | replace('$2', '') }} ;;
            server) {{ apply | replace('"$1"', 'server') | replace('$2', '--server-side') }} ;;
            watch)
              timeout 120 kubectl get configmap client --watch -o jsonpath='{.data.title}{"\n"}' >log & watcher=$!
              until grep -q Bye log; do kill -0 $watcher; sleep 0.1; done
              kubectl patch configmap client --type=merge -p '{"data": {"title": "Seen"}}' >&2
              until grep -q Seen log; do kill -0 $watcher; sleep 0.1; done
              kill $watcher
              tail -1 log ;;
            esac
          args: {executable: /bin/bash}
          register: done
          loop: [exec, tty, copy, logs, forward, apply, server, watch]
        - ansible.builtin.set_stats: {data: {done: "{{ dict(done.results | map(attribute='item') | zip(done.results | map(attribute='stdout'))) }}"}}
`

// TestKubectl does with kubectl, by the proxy of a run, what upgrades a connection, and what lasts.
func TestKubectl(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	must(t, cp.Stack.AllowTokens(t.Context(), s.Namespace))
	s.Execution, s.Config = "{place: Provider}", "kubernetes: {serviceAccountRef: {name: deployer}}"
	// Runs may read the directory.
	program := filepath.Join(cp.Stack.SharedDir(), s.Namespace+"-kubectl")
	text, err := os.ReadFile(cp.Stack.Tool("kubectl"))
	must(t, err)
	must(t, os.WriteFile(program, text, 0o755))
	t.Cleanup(func() { must(t, os.Remove(program)) })

	cp.Apply(t, kubectl, kubernetesScene{scene: s, Image: controlplane.ProviderImage, Kubectl: program})
	u := s.ready(t)

	want := map[string]any{
		"exec": "hello", "tty": "command terminated with exit code 3\nerr\nout\nstatus 3", "copy": "web", "logs": "GET /marker",
		"forward": "web", "watch": "Seen",
	}
	got, _ := Value(u, "status.atProvider.outputs.done").(map[string]any)
	for what, text := range want {
		if is, _ := got[what].(string); strings.TrimSpace(is) != text {
			t.Errorf("%s: want %q, got %q", what, text, is)
		}
	}
	for _, what := range []string{"apply", "server"} {
		if is, _ := got[what].(string); !strings.HasSuffix(is, "Bye") {
			t.Errorf("%s: want an object that was applied twice, got %q", what, is)
		}
	}
}
