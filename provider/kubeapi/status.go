package kubeapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// An object of the API. Its kind and its status are decoded, and the rest is ignored.
type object struct {
	metav1.TypeMeta

	Status json.RawMessage `json:"status"`
}

// isOf is true for an object of the owner's kind. Another kind of the same group may have an object with the same
// name.
func (o object) isOf(x runner.Owner) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: x.Group, Kind: x.Kind}
}

// takeStatus takes a write of the status of the run's XR as a report, since a Composition decides what the XR shows.
// Content of Ansible operators writes it with operator_sdk.util.k8s_status. It returns false if the object is not the
// XR.
func (p *proxy) takeStatus(w http.ResponseWriter, r *http.Request, body []byte) bool {
	var o object
	if json.Unmarshal(body, &o) != nil || !o.isOf(p.run.Object.Owner) {
		return false
	}

	// A check reports no status.
	if p.run.Mode == common.ModeApply && !r.URL.Query().Has("dryRun") {
		if err := p.rec.ReportStatus(o.Status, wayOf(r) == wayReplace); err != nil {
			refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
			return true
		}
	}

	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(body)

	return true
}

// bodyOf returns a body with the texts of all readers in order.
func bodyOf(c io.Closer, readers ...io.Reader) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(readers...), c}
}

// showStatus puts the status that the run has reported into an answer with its XR. The XR in the API server gets it
// later.
func (p *proxy) showStatus(rsp *http.Response) error {
	t, ok := rsp.Request.Context().Value(targetKey{}).(target)

	if !ok || !isXR(p.run.Object, t) || rsp.Request.Method != http.MethodGet ||
		contentType(rsp.Header) != typeJSON {
		return nil
	}

	var fields map[string]json.RawMessage

	switch xr := p.run.Object.Owner; {
	case rsp.StatusCode == http.StatusOK:
		text, err := io.ReadAll(io.LimitReader(rsp.Body, maxBody))
		rsp.Body = bodyOf(rsp.Body, bytes.NewReader(text), rsp.Body)

		if err != nil {
			return err
		}

		var o object
		if is := json.Unmarshal(text, &o) == nil && o.isOf(xr); !is {
			return nil
		}

		fields = members(text)
	case rsp.StatusCode == http.StatusNotFound && p.run.State == common.StateAbsent &&
		p.kindOf(rsp.Request.Context(), t) == xr.Kind:
		fields = deletedXR(t, xr.Kind)
	default:
		return nil
	}

	shown, err := p.visibleStatus(fields["status"])
	if err != nil {
		return err
	}

	fields["status"] = shown
	text := events.Encode(fields)
	rsp.Status, rsp.StatusCode = "200 OK", http.StatusOK
	rsp.Body = bodyOf(rsp.Body, bytes.NewReader(text))
	rsp.ContentLength = int64(len(text))
	rsp.Header.Set("Content-Length", strconv.Itoa(len(text)))

	return nil
}

// deletedXR returns an XR with metadata only. A deletion run sees it in place of the XR that no longer exists: the
// object of an Ansible operator exists until the end of its deletion, and content relies on that.
func deletedXR(t target, kind string) map[string]json.RawMessage {
	meta := map[string]string{"name": t.name}
	if t.namespace != "" {
		meta["namespace"] = t.namespace
	}

	return map[string]json.RawMessage{
		"apiVersion": events.Encode(t.apiVersion()), "kind": events.Encode(kind), "metadata": events.Encode(meta),
	}
}

// visibleStatus returns the status of an XR as a run sees it: with the reported fields. In a check it has the
// conditions of the API server, so that content that sets conditions finds that nothing would change.
func (p *proxy) visibleStatus(status json.RawMessage) (json.RawMessage, error) {
	text, err := p.rec.ShowStatus(status)
	if err != nil || p.run.Mode == common.ModeApply {
		return text, err
	}

	now, was := members(text), members(status)
	delete(now, "conditions")

	if c, ok := was["conditions"]; ok {
		now["conditions"] = c
	}

	return events.Encode(now), nil
}

// isXR is true for a target with the name of the object's XR, and for its status.
func isXR(o runner.Object, t target) bool {
	return (t.subresource == "" || t.subresource == "status") && o.Owner.Kind != "" && t.group == o.Owner.Group &&
		t.name == o.Owner.Name && (t.namespace == "" || t.namespace == o.Namespace)
}
