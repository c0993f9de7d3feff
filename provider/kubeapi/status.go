package kubeapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// Statuses has what the run sets of the status of its XR reported.
func (p *proxy) Statuses(report func(status json.RawMessage, replace bool) error) {
	p.report.Store(&report)
}

// takeStatus of the XR that the run belongs to as a report: a Composition decides what the XR shows. Content of
// Ansible operators sets it with operator_sdk.util.k8s_status. Everything else passes.
func (p *proxy) takeStatus(run runner.Spec, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, ok := targetOf(r.URL)
		way, report := wayOf(r), p.report.Load()

		if !ok || report == nil || !isStatus(run.Object, t) || way != wayReplace && way != wayMerge {
			next.ServeHTTP(w, r)
			return
		}

		size := sizeOf(r.ContentLength)
		if p.marker.requests.Acquire(r.Context(), size) != nil {
			return
		}
		defer p.marker.requests.Release(size)

		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			return
		}

		var o struct {
			metav1.TypeMeta

			Status json.RawMessage `json:"status"`
		}

		// A kind of another name, in the same group, may have an object with the same name.
		if json.Unmarshal(body, &o) != nil || o.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: run.Object.Owner.Group, Kind: run.Object.Owner.Kind}) {
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
			next.ServeHTTP(w, r)

			return
		}

		// A check reports nothing.
		if run.Mode == common.ModeApply && !r.URL.Query().Has("dryRun") {
			if err := (*report)(o.Status, way == wayReplace); err != nil {
				refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
				return
			}
		}

		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

// isStatus is true for the status of what has the name of the XR of an object.
func isStatus(o runner.Object, t target) bool {
	return t.subresource == "status" && o.Owner.Kind != "" && t.group == o.Owner.Group && t.name == o.Owner.Name &&
		(t.namespace == "" || t.namespace == o.Namespace)
}
