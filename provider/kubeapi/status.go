package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// Statuses has what the run sets of the status of its XR kept, and shown to it.
func (p *proxy) Statuses(s runner.Status) { p.status.Store(&s) }

// An object of the API, of which the status is read and the rest passes.
type object struct {
	metav1.TypeMeta

	Status json.RawMessage `json:"status"`
}

// is true for an object of the kind of an owner. A kind of another name, in the same group, may have an object with
// the same name.
func (o object) is(x runner.Owner) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: x.Group, Kind: x.Kind}
}

// takeStatus of the XR that the run belongs to as a report: a Composition decides what the XR shows. Content of
// Ansible operators sets it with operator_sdk.util.k8s_status. Everything else passes.
func (p *proxy) takeStatus(run runner.Spec, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, ok := targetOf(r.URL)
		way, status := wayOf(r), p.status.Load()

		if !ok || status == nil || !isXR(run.Object, t) {
			next.ServeHTTP(w, r)
			return
		}

		if r.Method == http.MethodGet {
			r.Header.Del("Accept-Encoding") // The answer is read.
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), xrKey{}, run)))

			return
		}

		if t.subresource == "" || way != wayReplace && way != wayMerge {
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

		var o object
		if json.Unmarshal(body, &o) != nil || !o.is(run.Object.Owner) {
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
			next.ServeHTTP(w, r)

			return
		}

		// A check reports nothing.
		if run.Mode == common.ModeApply && !r.URL.Query().Has("dryRun") {
			if err := (*status).ReportStatus(o.Status, way == wayReplace); err != nil {
				refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
				return
			}
		}

		w.Header().Set("Content-Type", typeJSON)
		_, _ = w.Write(body)
	})
}

// xrKey is the key of the run in the context of a request that reads its XR.
type xrKey struct{}

// showStatus that the run has set, in an answer with its XR. The XR itself has it some time after the run has set it.
func (p *proxy) showStatus(rsp *http.Response) error {
	run, ok := rsp.Request.Context().Value(xrKey{}).(runner.Spec)
	if !ok || rsp.StatusCode != http.StatusOK || contentType(rsp.Header) != typeJSON {
		return nil
	}

	text, err := p.marker.read(rsp)
	if err != nil {
		return err
	}

	fields, ok := xrIn(text, run.Object.Owner)
	if !ok {
		return nil
	}

	if fields["status"], err = shown(*p.status.Load(), fields["status"], run.Mode); err != nil {
		return err
	}

	text = encode(fields)
	rsp.Body = &answer{Reader: bytes.NewReader(text), Closer: rsp.Body, release: func() {}}
	rsp.ContentLength = int64(len(text))
	rsp.Header.Set("Content-Length", strconv.Itoa(len(text)))

	return nil
}

// xrIn an answer has these fields. It is false for another answer.
func xrIn(text []byte, x runner.Owner) (map[string]json.RawMessage, bool) {
	var (
		o      object
		fields map[string]json.RawMessage
	)

	ok := json.Unmarshal(text, &o) == nil && o.is(x) && json.Unmarshal(text, &fields) == nil

	return fields, ok
}

// shown is the status of an XR as a run is to see it. Conditions that a check sets are not kept: it is to see all that
// there are, and to find that nothing would change.
func shown(s runner.Status, status json.RawMessage, mode common.RunMode) (json.RawMessage, error) {
	text, err := s.ShowStatus(status)
	if err != nil || mode == common.ModeApply {
		return text, err
	}

	var was, now map[string]json.RawMessage

	_ = json.Unmarshal(status, &was) // There may be none.
	if err := json.Unmarshal(text, &now); err != nil {
		return nil, err
	}

	delete(now, "conditions")

	if c, ok := was["conditions"]; ok {
		now["conditions"] = c
	}

	return encode(now), nil
}

// isXR is true for what has the name of the XR of an object, and for its status.
func isXR(o runner.Object, t target) bool {
	return (t.subresource == "" || t.subresource == "status") && o.Owner.Kind != "" && t.group == o.Owner.Group && t.name == o.Owner.Name &&
		t.resource != "watch" && (t.namespace == "" || t.namespace == o.Namespace)
}
