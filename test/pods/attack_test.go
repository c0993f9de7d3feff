package pods

import (
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// attacking is a run that executes attacks, a shell script each, and publishes the names of those that succeed. Its Pod
// then waits at the gate.
var attacking = config + inputs + theRun + `
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]"}
    varFiles: [{source: SecretKey, secretKeyRef: {name: inputs, key: vars.yml}}]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Attack
          ansible.builtin.shell: "{{ '[[.Script]]' | b64decode }}"
          environment: {NAMESPACE: "[[.Namespace]]", API: "[[.API]]", KUBELET: "[[.Kubelet]]", LEDGER: "{{ ledger }}"}
          register: attack
        - ansible.builtin.set_stats: {data: {owned: "{{ attack.stdout_lines | join(' ') }}"}}
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/begin', ledger ~ '/gate/present') }}"}
`

// get is a script that gets a URL. Its exit status is 0 if the request succeeds.
const get = `python3 -c 'import ssl, sys, urllib.request as u; u.urlopen(sys.argv[1], context=ssl._create_unverified_context(), timeout=5)' `

// Defenses that refuse an attack.
const (
	nothing = iota
	// confinement of the run in its Pod.
	confinement
	// pod is the Pod itself, and the cluster.
	pod
)

// attacks of content on its own Pod, the node and the cluster.
var attacks = map[string]struct {
	reason, script string
	refusedBy      int
}{
	"Network":        {"Content may use the network.", get + `"$LEDGER/note/reached"`, nothing},
	"Work":           {"Content may write to its own directory.", `echo >mine`, nothing},
	"Token":          {"The Pod has no token.", `cat /var/run/secrets/kubernetes.io/serviceaccount/token`, pod},
	"Payload":        {"Only the worker reads the inputs of the run and the key of its reports.", `cat /var/run/secrets/ansible.crossplane.io/run/payload.000`, confinement},
	"Secrets":        {"Content must not list the mounted Secrets.", `ls /var/run/secrets`, confinement},
	"API":            {"Without a token the API server shows no Secret.", get + `"$API/api/v1/namespaces/$NAMESPACE/secrets"`, pod},
	"Kubelet":        {"Without a token the kubelet shows no Pods.", get + `"$KUBELET/pods"`, pod},
	"KubeletLogs":    {"Without a token the kubelet shows no logs.", get + `"$KUBELET/containerLogs/$NAMESPACE/x/run"`, pod},
	"KubeletFiles":   {"The directories of the kubelet have the Secrets of all Pods.", `ls /var/lib/kubelet`, pod},
	"Host":           {"The disks of the node are out of reach.", `ls /proc/1/root`, confinement},
	"Processes":      {"A run sees no processes.", `ls /proc/1`, confinement},
	"Environment":    {"Only the worker reads its environment.", `cat /proc/1/environ`, confinement},
	"Memory":         {"The memory of the worker has the key of the reports.", `head -c 1 /proc/1/mem || cat /proc/1/maps`, confinement},
	"Log":            {"Only the worker writes to the log.", `echo "ansible.crossplane.io/report:" >/proc/1/fd/1`, confinement},
	"Termination":    {"Only the worker writes the termination message.", `echo forged >/dev/termination-log`, confinement},
	"Signal":         {"A run must not signal its worker.", `kill -0 1`, confinement},
	"Signals":        {"A run must not signal processes of others.", `for p in $(seq 1 20); do kill -0 $p && exit; done; false`, confinement},
	"State":          {"The state directory of the worker must be hidden.", `ls /ansible/state`, confinement},
	"Program":        {"The program of the worker does not change.", `echo >>/usr/local/bin/provider-ansible`, pod},
	"Planted":        {"A run must not create files beside those of the worker.", `mkdir /ansible/planted`, confinement},
	"System":         {"The image does not change.", `echo >/usr/bin/attack || echo >/etc/attack`, pod},
	"Root":           {"A run is not root.", `test "$(id -u)" = 0`, pod},
	"Namespace":      {"A run does not become root in a namespace.", `unshare --user --map-root-user true`, pod},
	"Mount":          {"A run mounts nothing.", `mount -t proc proc /proc`, pod},
	"Packets":        {"A run opens no raw sockets.", `python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'`, pod},
	"Devices":        {"A run has no disks.", `head -c 1 /dev/sda || head -c 1 /dev/vda || head -c 1 /dev/mem`, pod},
	"ControlGroups":  {"A run does not change its limits.", `find /sys/fs/cgroup -name 'memory.max' -writable | grep . && echo max >/sys/fs/cgroup/memory.max`, pod},
	"SharedMemory":   {"Names in shared memory cannot be listed.", `ls /dev/shm`, confinement},
	"ContainerdSock": {"The container engine cannot be reached.", `find / -xdev -name '*.sock' -type s 2>/dev/null | grep .`, pod},
}

// TestAttacks executes all attacks in a Pod, in a namespace with the strictest Pod Security Standard. TestFlags executes
// them in a Pod without confinement: attacks that only the confinement refuses must succeed there. Other Pods of the
// namespace must not read the inputs of the run.
func TestAttacks(t *testing.T) {
	t.Parallel()

	if sandbox.Landlock() < 6 {
		needs.Machinef(t, "The kernel is too old to confine runs in their Pods.")
	}

	owned := newScene(t).attack(t)
	for name, a := range attacks {
		if got := slices.Contains(owned, name); got != (a.refusedBy == nothing) {
			t.Errorf("%s: %s Got %t: %s", name, a.reason, got, a.script)
		}
	}
}

// attackUnconfined is TestAttacks where nothing confines runs in their Pods.
func attackUnconfined(t *testing.T) {
	t.Parallel()

	owned := newScene(t).attack(t)
	for name, a := range attacks {
		if got := slices.Contains(owned, name); got != (a.refusedBy != pod) {
			t.Errorf("%s without confinement: %s Got %t: %s", name, a.reason, got, a.script)
		}
	}
}

// attack with all scripts, and return the names of those that succeed.
func (s *scene) attack(t *testing.T) []string {
	t.Helper()
	cp.Patch(t, Object{APIVersion: "v1", Kind: "Namespace", Name: s.Namespace}, `{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`)
	node := &corev1.Node{}
	needs.OK(t, cp.Kube.Get(t.Context(), client.ObjectKey{Name: controlplane.NodeName}, node))
	script := &strings.Builder{}
	for name, a := range attacks {
		_, _ = fmt.Fprintf(script, "( %s ) >/dev/null 2>&1 </dev/null && echo %s\n", a.script, name)
	}
	_, _ = fmt.Fprintln(script, "true")
	s.Script = base64.StdEncoding.EncodeToString([]byte(script.String()))
	s.Kubelet = "https://" + net.JoinHostPort(node.Status.Addresses[0].Address, fmt.Sprint(node.Status.DaemonEndpoints.KubeletEndpoint.Port))
	s.apply(t, attacking)
	s.Await(t, 1, "begin")

	for _, verb := range []string{"get", "list", "watch"} {
		r := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + s.Namespace + ":default", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + s.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.Namespace, Verb: verb, Resource: "secrets"},
		}}
		needs.OK(t, cp.Kube.Create(t.Context(), r))
		if r.Status.Allowed {
			t.Errorf("Pods with the service account of the namespace should not %s the inputs of runs.", verb)
		}
	}
	if log := cp.Kubectl(t, "logs", "--namespace="+s.Namespace, s.pod(t).Name); strings.Contains(log, "correct-horse-battery") {
		t.Errorf("The log should have no secrets:\n%s", log)
	}

	s.Open("present")
	owned, _ := Value(s.ready(t), "status.atProvider.outputs.owned").(string)
	return strings.Fields(owned)
}

// TestServiceAccount gives a run the rights of a service account in its own namespace.
func TestServiceAccount(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Execution = "{place: Pod, serviceAccountName: robot, " + small + "}"
	s.apply(t, Account("robot", `{apiGroups: [""], resources: [configmaps], verbs: [get]}`)+`
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: page}
data: {title: one}
---`+config+theRun+`
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        vars:
          token: "{{ lookup('ansible.builtin.file', '/var/run/secrets/kubernetes.io/serviceaccount/token') }}"
        tasks:
        - name: Read what the service account may read
          ansible.builtin.uri: {url: "[[.API]]/api/v1/namespaces/[[.Namespace]]/configmaps/page", validate_certs: false, headers: {Authorization: "Bearer {{ token }}"}}
          register: page
        - name: Read Secrets
          ansible.builtin.uri: {url: "[[.API]]/api/v1/namespaces/[[.Namespace]]/secrets", validate_certs: false, headers: {Authorization: "Bearer {{ token }}"}, status_code: 403}
        - name: Read the inputs of the run
          ansible.builtin.command: cat /var/run/secrets/ansible.crossplane.io/run/payload.000
          register: payload
          failed_when: payload.rc == 0
        - ansible.builtin.set_stats: {data: {title: "{{ page.json.data.title }}"}}
`)
	s.ready(t, Field("status.atProvider.outputs.title", "one"))
}
