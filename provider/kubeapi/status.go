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
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), xrKey{}, reading{run, t})))

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

// xrKey is the key of a reading in the context of a request.
type xrKey struct{}

// A reading of what has the name of the XR of a run.
type reading struct {
	run    runner.Spec
	target target
}

// showStatus that the run has set, in an answer with its XR. The XR itself has it some time after the run has set it.
func (p *proxy) showStatus(rsp *http.Response) error {
	of, ok := rsp.Request.Context().Value(xrKey{}).(reading)
	if !ok || contentType(rsp.Header) != typeJSON {
		return nil
	}

	var fields map[string]json.RawMessage

	switch {
	case rsp.StatusCode == http.StatusOK:
		text, err := p.marker.read(rsp)
		if err != nil {
			return err
		}

		if fields, ok = xrIn(text, of.run.Object.Owner); !ok {
			return nil
		}
	case rsp.StatusCode == http.StatusNotFound && of.run.State == common.StateAbsent &&
		p.kindOf(rsp.Request.Context(), of.target) == of.run.Object.Owner.Kind:
		fields = gone(of)
	default:
		return nil
	}

	status, err := shown(*p.status.Load(), fields["status"], of.run.Mode)
	if err != nil {
		return err
	}

	fields["status"] = status
	text := encode(fields)
	rsp.Status, rsp.StatusCode = "200 OK", http.StatusOK
	rsp.Body = &answer{Reader: bytes.NewReader(text), Closer: rsp.Body, release: func() {}}
	rsp.ContentLength = int64(len(text))
	rsp.Header.Set("Content-Length", strconv.Itoa(len(text)))

	return nil
}

// gone is what a run sees of an XR that is not there any more while its content is removed. An operator's object stays
// until then, so content expects it.
func gone(of reading) map[string]json.RawMessage {
	meta := map[string]string{"name": of.target.name}
	if of.target.namespace != "" {
		meta["namespace"] = of.target.namespace
	}

	return map[string]json.RawMessage{
		"apiVersion": encode(of.target.apiVersion()), "kind": encode(of.run.Object.Owner.Kind), "metadata": encode(meta),
	}
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
	return (t.subresource == "" || t.subresource == "status") && o.Owner.Kind != "" && t.group == o.Owner.Group &&
		t.name == o.Owner.Name &&
		t.resource != "watch" && (t.namespace == "" || t.namespace == o.Namespace)
}
