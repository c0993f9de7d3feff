package pods

import (
	"crypto/rand"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// fill returns a payload like that of a provider.
func fill(t *testing.T) Payload {
	t.Helper()

	long := make([]byte, 2*maxPart)
	_, _ = rand.Read(long)

	return Payload{
		Spec: runner.Spec{
			ID: "id", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerChanged, Attempt: 2,
			Object: runner.Object{Name: "n", Namespace: "ns", UID: "u", Generation: 3, Labels: map[string]string{"a": "b"}},
			Inputs: inputs.Inputs{
				Parameters: common.AnsibleRunParameters{
					Role: "a.b.c", Vars: &runtime.RawExtension{Raw: []byte(`{"big":12345678901234567890,"f":1.0}`)}, Timeout: &metav1.Duration{Duration: time.Minute},
				},
				Roles:       []common.Role{{Name: "a.b.c"}},
				VarFiles:    []inputs.File{{Name: "s", Data: []byte{0, 255, '\n'}, Secret: true}},
				Credentials: []inputs.File{{Name: "id_rsa", Data: long, Rotates: "Secret x"}},
				Env:         map[string]string{"A": "\xff is no text in UTF-8"[5:]},
				Grant:       sandbox.Grant{Read: []string{"/x"}},
				Execution:   common.Execution{Place: common.PlacePod, Namespace: "ns", KeepFor: &metav1.Duration{Duration: time.Second}},
			},
			Timeout: time.Minute, KeepOutput: true,
			Content: content.Set{Content: common.Content{Digest: "c", Collections: []common.ContentItem{{Name: "a.b", Version: "1.0.0"}}, Resolved: &metav1.Time{Time: time.Unix(1767319445, 0)}}},
		},
		Request: "token", Before: &common.Run{ID: "before"},
		Key: sealed.NewKey(), ContentKey: []byte("key"), Pod: "pod",
	}
}

// TestLongPayload passes a payload through Secrets and a directory. The inputs do not change:
// they have the same digest afterwards.
func TestLongPayload(t *testing.T) {
	want := fill(t)

	r := onCluster(t)

	packed, err := want.pack()
	needs.OK(t, err)

	secrets := r.secrets(r.todo, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "pod"}}, packed)

	if len(secrets) < 3 {
		t.Errorf("Inputs of more than a mebibyte should be in several Secrets, not in %d", len(secrets))
	}

	dir := fstest.MapFS{"..data": &fstest.MapFile{Data: []byte("not a part")}, filePod: &fstest.MapFile{Data: []byte("pod")}}

	for _, s := range secrets {
		if !*s.Immutable || s.Labels[labelRun] != "id" {
			t.Errorf("A Secret of a run should be immutable, and have its label: %+v", s.ObjectMeta)
		}

		for name, data := range s.Data {
			dir[name] = &fstest.MapFile{Data: data}
		}
	}

	got, err := ReadPayload(dir)
	needs.OK(t, err)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadPayload(...): -want, +got:\n%s", diff)
	}

	key := []byte("key")
	before, _ := want.Spec.Inputs.Digest(key, nil, nil, nil)

	if after, err := got.Spec.Inputs.Digest(key, nil, nil, nil); err != nil || before != after {
		t.Errorf("Digest(...): want %s, got %s, %v", before, after, err)
	}

	dir[filePod] = &fstest.MapFile{Data: []byte("another")}
	if _, err := ReadPayload(dir); err == nil {
		t.Error("A payload for another Pod should be refused.")
	}

	dir[filePod] = &fstest.MapFile{Data: []byte("pod")}
	delete(dir, partName(1))

	if _, err := ReadPayload(dir); err == nil {
		t.Error("A payload that lacks a part should be refused.")
	}

	if _, err := ReadPayload(fstest.MapFS{}); err == nil {
		t.Error("A directory without a payload should be refused.")
	}
}
