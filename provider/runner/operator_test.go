package runner

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

func TestOperatorMeta(t *testing.T) {
	composed := &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team-a", Name: "site-x7k2",
		OwnerReferences: []metav1.OwnerReference{{Kind: "Other", Name: "other"}, {APIVersion: "example.org/v1", Kind: "Site", Name: "site", Controller: new(true)}},
	}}
	claimed := &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: "site", Labels: map[string]string{labelClaimNamespace: "team-b"}}}

	for name, tc := range map[string]struct {
		reason string
		object Object
		vars   string
		want   string
	}{
		"Composed": {"The content receives the name of the XR instead of the AnsibleRun.", ObjectOf(composed), "", `? "ansible_operator_meta" : {? "name" : "site", ? "namespace" : "team-a"}`},
		"Claimed":  {"The namespace is that of the claim.", ObjectOf(claimed), "", `? "ansible_operator_meta" : {? "name" : "site", ? "namespace" : "team-b"}`},
		"Given":    {"A value of the user takes precedence.", ObjectOf(composed), `{"ansible_operator_meta": {"name": "x"}}`, `{"ansible_operator_meta":{"name":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			run := Spec{Object: tc.object, Inputs: inputs.Inputs{}}
			if tc.vars != "" {
				run.Inputs.Parameters.Vars = raw(tc.vars)
			}

			var all strings.Builder
			for _, f := range varFiles(run) {
				all.Write(f.Data)
			}

			if strings.Count(all.String(), "ansible_operator_meta") != 1 || !strings.Contains(all.String(), tc.want) {
				t.Errorf("%s\nwant %s once in\n%s", tc.reason, tc.want, all.String())
			}
		})
	}
}
