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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	providerconfig "github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// attacking is a run that carries out attacks, a shell script each, and publishes the names of those
// that succeed. It then waits at the gate, as the victim of others.
const attacking = config + inputs + theRun + `
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

// get is a script that gets a URL. The status is 0 if somebody answers with what was asked for.
const get = `python3 -c 'import ssl, sys, urllib.request as u; u.urlopen(sys.argv[1], context=ssl._create_unverified_context(), timeout=5)' `

// Who refuses an attack.
const (
	nobody = iota
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
	"Network":        {"Content may use the network.", get + `"$LEDGER/note/reached"`, nobody},
	"Work":           {"Content may write to its own directory.", `echo >mine`, nobody},
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

// attackScene is a scene whose run carries out attacks.
type attackScene struct {
	*scene

	Script, API, Kubelet string
}

// TestAttacks has one Pod attack what is in it and around it, in a namespace that enforces the
// strictest standard, and then another one without confinement, where attacks must succeed that
// nothing else refuses. Nobody else in the namespace reads what the run was given.
func TestAttacks(t *testing.T) {
	s := newScene(t)
	if sandbox.Kernel() < 6 {
		needs.Machinef(t, "The kernel is too old to confine runs in their Pods.")
	}
	owned := s.attack(t)
	cp.Provider.Restart(t, "--confinement=Off")
	unconfined := newScene(t).attack(t)
	for name, a := range attacks {
		if got := slices.Contains(owned, name); got != (a.refusedBy == nobody) {
			t.Errorf("%s: %s Got %t: %s", name, a.reason, got, a.script)
		}
		if got := slices.Contains(unconfined, name); got != (a.refusedBy != pod) {
			t.Errorf("%s without confinement: %s Got %t: %s", name, a.reason, got, a.script)
		}
	}
}

// attack with all scripts, and return the names of those that succeed.
func (s *scene) attack(t *testing.T) []string {
	t.Helper()
	patch(t, Object{APIVersion: "v1", Kind: "Namespace", Name: s.Namespace}, `{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`)
	node := &corev1.Node{}
	must(t, cp.Kube.Get(t.Context(), client.ObjectKey{Name: controlplane.NodeName}, node))
	script := &strings.Builder{}
	for name, a := range attacks {
		_, _ = fmt.Fprintf(script, "( %s ) >/dev/null 2>&1 </dev/null && echo %s\n", a.script, name)
	}
	_, _ = fmt.Fprintln(script, "true")
	cp.Apply(t, attacking, attackScene{
		scene: s, Script: base64.StdEncoding.EncodeToString([]byte(script.String())),
		API:     "https://" + net.JoinHostPort(cp.Stack.Address(), "443"),
		Kubelet: "https://" + net.JoinHostPort(node.Status.Addresses[0].Address, fmt.Sprint(node.Status.DaemonEndpoints.KubeletEndpoint.Port)),
	})
	s.Await(t, 1, "begin")

	for _, verb := range []string{"get", "list", "watch"} {
		r := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + s.Namespace + ":default", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + s.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.Namespace, Verb: verb, Resource: "secrets"},
		}}
		must(t, cp.Kube.Create(t.Context(), r))
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

// TestNeighbor has the Pod of one run look for a way into that of another one in the same namespace. None
// of its ports is open. That of the kubelet shows that others would be found.
func TestNeighbor(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.apply(t, waiting)
	s.begun(t, 1)
	peer := &corev1.Pod{}
	must(t, cp.Kube.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: s.pod(t).Name}, peer))
	node := &corev1.Node{}
	must(t, cp.Kube.Get(t.Context(), client.ObjectKey{Name: controlplane.NodeName}, node))

	neighbor := Object{APIVersion: groupVersion, Kind: "AnsibleRun", Namespace: s.Namespace, Name: "neighbor"}
	kubelet := node.Status.DaemonEndpoints.KubeletEndpoint.Port
	cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: neighbor}
spec:
  managementPolicies: [[.Actions]]
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Look for ports
          ansible.builtin.command:
            argv:
            - python3
            - -c
            - |
              import socket
              for host, ports in ("[[.Peer]]", range(1, 65536)), ("[[.Node]]", ([[.Kubelet]],)):
                  for port in ports:
                      with socket.socket() as s:
                          s.settimeout(5)
                          if s.connect_ex((host, port)) == 0:
                              print(port)
          register: ports
        - ansible.builtin.set_stats: {data: {open: "{{ ports.stdout_lines | join(' ') }}"}}
`, struct {
		*scene

		Peer, Node string
		Kubelet    int32
	}{s, peer.Status.PodIP, node.Status.Addresses[0].Address, kubelet})
	cp.WaitFor(t, neighbor, Condition("Ready", "True"), Field("status.atProvider.outputs.open", fmt.Sprint(kubelet)))
	s.Open("present")
	s.ready(t)
}

// TestServiceAccount gives a run a service account, and what that may do, in its own namespace only.
func TestServiceAccount(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Execution = "{place: Pod, serviceAccountName: robot, " + small + "}"
	a := attackScene{scene: s, API: "https://" + net.JoinHostPort(cp.Stack.Address(), "443")}
	cp.Apply(t, `
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: [[.Namespace]], name: robot}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: page}
data: {title: one}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: [[.Namespace]], name: robot}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: [[.Namespace]], name: robot}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: robot}
subjects: [{kind: ServiceAccount, namespace: [[.Namespace]], name: robot}]
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
`, a)
	s.ready(t, Field("status.atProvider.outputs.title", "one"))
}

// TestHeldJob cancels a run whose Job somebody keeps from going.
func TestHeldJob(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Actions = `["*"]`
	s.Open("absent")
	s.apply(t, waiting)
	s.begun(t, 1)
	job := s.job(t)
	patch(t, job, `{"metadata": {"finalizers": ["example.org/mine"]}}`)
	cp.Delete(t, s.run())
	cp.WaitGone(t, s.run())
	if got := strings.Join(s.Notes(), " "); s.Count("end/present") != 0 || s.Count("end/absent") != 1 {
		t.Errorf("The run of the deletion should have followed the one that was canceled, got %s", got)
	}
	patch(t, job, `{"metadata": {"finalizers": null}}`)
	cp.WaitGone(t, job)
}

// TestKeyLost deletes the key of the provider, with runs in progress. Nothing runs twice at a time,
// and the status says what to do.
func TestKeyLost(t *testing.T) {
	s := newScene(t)
	s.apply(t, waiting)
	first := Value(s.begun(t, 1), "status.atProvider.lastRun.id")
	job := s.job(t)

	cp.Provider.Stop(t)
	must(t, cp.Kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.Namespace, Name: providerconfig.KeySecret}}))
	cp.Provider.Start(t)
	u := cp.WaitFor(t, s.run(), last("phase", "Running"), lastSays("kubectl delete job --namespace="+s.Namespace+" "+job.Name))
	if got := Value(u, "status.atProvider.lastRun.id"); got != first || s.Count("begin/") != 1 {
		t.Errorf("No other run should have begun, got %v: %v", got, s.Notes())
	}

	// What the status says ends it.
	seen := watched(t, s.run())
	cp.Kubectl(t, "delete", "job", "--namespace="+s.Namespace, job.Name)
	s.Await(t, 2, "begin/present/")
	s.Open("present")
	s.ready(t)
	ended := seen(func(m map[string]any) bool { return m["id"] == first && m["phase"] == "Interrupted" })
	if len(ended) == 0 || s.Count("end/") != 1 {
		t.Errorf("The run should be interrupted, and made up for once, got %v: %v", ended, s.Notes())
	}
	s.nothingLeft(t)
}
