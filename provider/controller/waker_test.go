package controller

import (
	"runtime"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// TestWaker keeps what wakes an object, as the pool does while it waits, and nothing of its Secrets.
func TestWaker(t *testing.T) {
	var woken []types.NamespacedName

	c := &connector{wake: func(name types.NamespacedName) { woken = append(woken, name) }}
	e := &external{connector: c, inputs: inputs.Inputs{Credentials: []inputs.File{{Data: []byte("hunter2")}}}}
	kept := weak.Make(e)
	wake := e.waker(&v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}})

	runtime.GC()

	if kept.Value() != nil {
		t.Error("The inputs are still there.")
	}

	wake()

	if diff := cmp.Diff([]types.NamespacedName{{Namespace: "ns", Name: "run"}}, woken); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
