package runner

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/event"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		os.Exit(supervisor.Main(os.Args[2:]))
	}

	os.Exit(m.Run())
}

// newRunner returns a runner in an empty directory. It fails the test when
// Ansible's tools are not in PATH.
func newRunner(t *testing.T, o ...Option) *Runner {
	t.Helper()

	r, err := New(t.TempDir(), o...)
	if err != nil {
		t.Fatalf("New(...): %v (the tools are installed by make)", err)
	}

	return r
}

// inline is a run of a playbook on localhost.
func inline(playbook string) Run {
	return Run{
		ID:      "run-1",
		Mode:    common.ModeApply,
		State:   common.StatePresent,
		Trigger: common.TriggerCreated,
		Attempt: 1,
		Object:  Object{Name: "example", Namespace: "default"},
		Inputs:  inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: playbook}},
	}
}

func TestX(t *testing.T) {
	r := newRunner(t)
	run := inline(`
- hosts: localhost
  gather_facts: false
  tasks:
  - copy: {content: "{{ a }}", dest: "` + filepath.Join(t.TempDir(), "x") + `"}
  - debug: {var: ansible_provider_meta}
  - set_stats: {data: {u: "{{ b }}", n: "{{ n }}"}}
`)
	run.Inputs.Parameters.Vars = &runtime.RawExtension{Raw: []byte(`{"a": "x", "n": 12345678901234567890123}`)}
	run.Inputs.Parameters.UnsafeVars = &runtime.RawExtension{Raw: []byte(`{"b": "{{ lookup('pipe', 'id') }}"}`)}
	res, err := r.Run(context.Background(), run, func(s event.Summary) { t.Log(s.Play, s.Task) })
	t.Logf("%+v %v %s", res, err, res.Summary.Outputs)
	e, _ := os.ReadDir(r.dir)
	t.Log(cmp.Diff(nil, e))
}
