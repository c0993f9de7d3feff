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

// attacking is a run that carries out attacks, a shell script each, and publishes the names of those
// that succeed. It then waits at the gate, as the victim of others.
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

// get is a script that gets a URL. The status is 0 if the answer is what was asked for.
const get = `python3 -c 'import ssl, sys, urllib.request as u; u.urlopen(sys.argv[1], context=ssl._create_unverified_context(), timeout=5)' `

// What refuses an attack.
const (
	nothing = iota
	// confinement of the run in its Pod.
	confinement
	// pod is the Pod itself, and the cluster.
	pod
)

// attacks by content on what is in its own Pod and around it.
var attacks = map[string]struct {
	reason, script string
	refusedBy      int
}{
	"Network":        {"Content may use the network.", get + `"$LEDGER/note/reached"`, nothing},
	"Work":           {"Content may write to its own directory.", `echo >mine`, nothing},
	"Token":          {"The Pod has no token.", `cat /var/run/secrets/kubernetes.io/serviceaccount/token`, pod},
	"Payload":        {"The inputs of the run, and the key of its reports, are for the worker.", `cat /var/run/secrets/ansible.crossplane.io/run/payload.000`, confinement},
	"Secrets":        {"Nor may content look what else is mounted there.", `ls /var/run/secrets`, confinement},
	"API":            {"Without a token the API server shows no Secret.", get + `"$API/api/v1/namespaces/$NAMESPACE/secrets"`, pod},
	"Kubelet":        {"Nor does the kubelet show Pods.", get + `"$KUBELET/pods"`, pod},
	"KubeletLogs":    {"Nor does it show logs.", get + `"$KUBELET/containerLogs/$NAMESPACE/x/run"`, pod},
	"KubeletFiles":   {"The directories of the kubelet have the Secrets of all Pods.", `ls /var/lib/kubelet`, pod},
	"Host":           {"The disks of the node are not there.", `ls /proc/1/root`, confinement},
	"Processes":      {"A run sees no processes.", `ls /proc/1`, confinement},
	"Environment":    {"The environment of the worker is its own.", `cat /proc/1/environ`, confinement},
	"Memory":         {"The memory of the worker has the key of the reports.", `head -c 1 /proc/1/mem || cat /proc/1/maps`, confinement},
	"Log":            {"Only the worker writes to the log.", `echo "ansible.crossplane.io/report:" >/proc/1/fd/1`, confinement},
	"Termination":    {"Why the container ended, is for the worker to say.", `echo forged >/dev/termination-log`, confinement},
	"Signal":         {"No run ends its worker.", `kill -0 1`, confinement},
	"Signals":        {"Nor any other process than its own.", `for p in $(seq 1 20); do kill -0 $p && exit; done; false`, confinement},
	"State":          {"The directory of the worker has other directories than that of the run.", `ls /ansible/state`, confinement},
	"Program":        {"The program of the worker does not change.", `echo >>/usr/local/bin/provider-ansible`, pod},
	"Planted":        {"Nothing is put beside what the worker has written.", `mkdir /ansible/planted`, confinement},
	"System":         {"The image does not change.", `echo >/usr/bin/attack || echo >/etc/attack`, pod},
	"Root":           {"A run is not root.", `test "$(id -u)" = 0`, pod},
	"Namespace":      {"Nor does it become root in a namespace.", `unshare --user --map-root-user true`, pod},
	"Mount":          {"It mounts nothing.", `mount -t proc proc /proc`, pod},
	"Packets":        {"It makes no packets by itself.", `python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'`, pod},
	"Devices":        {"It has no disks.", `head -c 1 /dev/sda || head -c 1 /dev/vda || head -c 1 /dev/mem`, pod},
	"ControlGroups":  {"Its limits do not change.", `find /sys/fs/cgroup -name 'memory.max' -writable | grep . && echo max >/sys/fs/cgroup/memory.max`, pod},
	"SharedMemory":   {"Names in shared memory cannot be listed.", `ls /dev/shm`, confinement},
	"ContainerdSock": {"The container engine cannot be reached.", `find / -xdev -name '*.sock' -type s 2>/dev/null | grep .`, pod},
}

// TestAttacks has one Pod attack what is in it and around it, in a namespace that enforces the strictest
// standard. In TestFlags, a Pod without confinement attacks: what only the confinement refuses must succeed then. The
// inputs of the run must not be readable by anything else in the namespace.
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

// TestServiceAccount gives a run a service account, and what that may do, in its own namespace only.
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
