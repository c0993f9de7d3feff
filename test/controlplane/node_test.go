package controlplane

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// job asks the API server how it is, where nothing is allowed that Pod Security
// does not allow, and a Pod that stays.
const job = `
apiVersion: v1
kind: Namespace
metadata:
  name: restricted
  labels: {pod-security.kubernetes.io/enforce: restricted}
---
apiVersion: batch/v1
kind: Job
metadata: {namespace: restricted, name: ask}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      securityContext: {runAsNonRoot: true, runAsUser: 2000, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: kubectl
        image: docker.io/crossplane-ansible/kubectl:dev
        imagePullPolicy: Never
        args: [get, --raw=/readyz]
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        resources: {limits: {cpu: "1", memory: 128Mi}}
---
apiVersion: batch/v1
kind: Job
metadata: {namespace: restricted, name: stay}
spec:
  template:
    spec:
      restartPolicy: Never
      securityContext: {runAsNonRoot: true, runAsUser: 2000, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: pause
        image: docker.io/crossplane-ansible/pause:dev
        imagePullPolicy: Never
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

func TestNode(t *testing.T) {
	needs.Able(t, CheckNode())
	o := Options{
		Root:       "../..",
		Dir:        ".cache/node",
		Logs:       ".cache/logs/node",
		Kubeconfig: ".cache/node.kubeconfig",
		Bare:       true,
		Node:       true,
		Out:        t.Output(),
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{nameEtcd, nameAPIServer, nameControllerManager, nameScheduler, nameNode, nameContainerd, nameKubelet, "kubectl"} {
		needs.Built(t, "test-install", s.bin(name))
	}
	unlock, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := s.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Down(context.Background())
	if err := s.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.ImportProgram(t.Context(), "docker.io/crossplane-ansible/kubectl:dev", s.Tool("kubectl")); err != nil {
		t.Fatal(err)
	}

	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), s.Tool("kubectl"), append([]string{"--namespace=restricted"}, args...)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig())
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %s\n%s\n%s", strings.Join(args, " "), err, out, s.Tail(nameKubelet, 4<<10))
		}
		return string(out)
	}
	kubectl(job, "apply", "--filename=-")
	kubectl("", "wait", "job/ask", "--for=condition=Complete", "--timeout=60s")
	kubectl("", "wait", "job/stay", "--for=jsonpath={.status.ready}=1", "--timeout=60s")
	if diff := cmp.Diff("ok", kubectl("", "logs", "job/ask")); diff != "" {
		t.Errorf("A Pod should reach the API server, and its log should be read.\n-want, +got:\n%s", diff)
	}

	// Somebody else takes it down, who knows nothing but its directory.
	pods, err := s.contained()
	if err != nil || len(pods) == 0 {
		t.Errorf("Pods should be known by their control groups, got %v, %v", pods, err)
	}
	link := s.link()
	o.Node, o.Bare = false, false
	if s, err = New(o); err != nil {
		t.Fatal(err)
	}
	if err := s.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := []string{s.path(), filepath.Join("/sys/class/net", link)}
	for _, h := range hierarchies() {
		left = append(left, filepath.Join(h, link))
	}
	for _, path := range left {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s should be gone, got %v", path, err)
		}
	}
	for _, p := range pods {
		if over, err := p.ended(0); !over || err != nil {
			t.Errorf("Process %d of a Pod should have ended, got %v", p.Pid, err)
		}
	}
	if b, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(b), s.path()) {
		t.Errorf("Nothing should be mounted from %s, got %v\n%s", s.path(), err, b)
	}
}
