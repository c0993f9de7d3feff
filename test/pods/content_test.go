package pods

import (
	"crypto/rand"
	"encoding/base64"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestLargeInputs gives a run inputs that no Secret has room for.
func TestLargeInputs(t *testing.T) {
	t.Parallel()

	const size = 900 << 10
	s := newScene(t)
	for _, name := range []string{"first", "second"} {
		random := make([]byte, size*3/4)
		_, _ = rand.Read(random)
		must(t, cp.Kube.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
			Data:       map[string]string{"vars.yml": name + ": " + base64.StdEncoding.EncodeToString(random)},
		}))
	}
	s.apply(t, config+theRun+`
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]"}
    varFiles:
    - {source: ConfigMapKey, configMapKeyRef: {name: first, key: vars.yml}}
    - {source: ConfigMapKey, configMapKeyRef: {name: second, key: vars.yml}}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/begin', ledger ~ '/gate/present') }}"}
        - ansible.builtin.set_stats: {data: {first: "{{ first | length }}", second: "{{ second | length }}"}}
`)
	s.Await(t, 1, "begin")
	if got := len(s.secrets(t)); got < 2 {
		t.Errorf("Several Secrets should have the inputs, got %d", got)
	}
	s.Open("present")
	s.ready(t, Field("status.atProvider.outputs.first", size), Field("status.atProvider.outputs.second", size))
	s.nothingLeft(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
