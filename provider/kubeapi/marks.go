package kubeapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// Annotations of objects that cannot have their AnsibleRun as an owner: those by which Ansible operators
// know them.
const (
	annotationOwner     = "operator-sdk/primary-resource"
	annotationOwnerType = "operator-sdk/primary-resource-type"
)

const (
	// maxBody is the length of a body that is read, in bytes. The API server takes 3 MiB.
	maxBody = 4 << 20
	// maxMemory of the bodies of a run's requests that are read, and again of their answers, in bytes.
	maxMemory = 32 << 20
	// maxDecoded is the length of the longest metadata, and of the longest YAML, in bytes. When they are decoded they
	// take up to a hundred times as much. YAML with aliases, which has no such bound, is refused.
	maxDecoded = 512 << 10
	// maxKinds that are known while a run lasts. Of some of those that earlier runs have made nothing may be left.
	maxKinds = 2 * dependents.MaxKinds
	// maxDeleted are the objects that a run has deleted and that are known.
	maxDeleted = 10_000
)

// errLongMetadata says why an object gets no marks.
var errLongMetadata = errors.Errorf("their metadata has to have %d bytes at most", maxDecoded)

// A marker marks what a run writes: what it creates by an owner reference, or by annotations where
// Kubernetes allows none, and all of it by a label.
type marker struct {
	object runner.Object
	// owns says that objects have owners, and labels that they have labels.
	owns, labels bool
	// get reads the metadata of the object that a request is about.
	get func(r *http.Request) (*metav1.PartialObjectMetadata, error)
	// requests and answers have the memory for bodies that are read, also for those of objects that are to be written.
	requests, answers *semaphore.Weighted
	// decoding is locked while something is decoded: one request at a time.
	decoding sync.Mutex

	mu    sync.Mutex
	kinds []common.DependentKind
	// deleted objects, without the versions of their kinds; those without a name are all of a kind in a namespace.
	deleted map[target]struct{}
}

// A target is what the path of a request is about.
type target struct {
	group, version, namespace, resource, name, subresource string
}

// targetOf a path: /api/v1/… or /apis/GROUP/VERSION/…, then namespaces/NAMESPACE/ or nothing, a resource, a
// name, a subresource. It is false for any other path.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
func targetOf(u *url.URL) (target, bool) {
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}

	var t target

	switch {
	case len(parts) > 2 && parts[0] == "api":
		t.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		t.group, t.version, parts = parts[1], parts[2], parts[3:]
	default:
		return t, false
	}

	// A Namespace has two subresources of its own.
	if parts[0] == "namespaces" && len(parts) > 2 && (len(parts) > 3 || parts[2] != "status" && parts[2] != "finalize") {
		t.namespace, parts = parts[1], parts[2:]
	}

	for i, field := range []*string{&t.resource, &t.name, &t.subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}

	return t, t.resource != "" && len(parts) <= 3
}

// markable is true for objects that stay. The API server keeps no reviews, and events only for a while.
func (t target) markable() bool {
	groups := []string{"authentication.k8s.io", "authorization.k8s.io", "events.k8s.io"}

	return t.subresource == "" && !slices.Contains(groups, t.group) &&
		(t.group != "" || t.resource != "events" && t.resource != "bindings")
}

// apiVersion of the target.
func (t target) apiVersion() string { return strings.TrimPrefix(t.group+"/"+t.version, "/") }

// Ways to write an object.
const (
	wayCreate  = "create"
	wayReplace = "replace"
	wayApply   = "apply"
	wayMerge   = "merge"
)

// wayOf a request to write an object; empty for one that writes none, and for a patch in JSON's own format,
// which has no place for marks.
func wayOf(r *http.Request) string {
	switch kind := types.PatchType(contentType(r.Header)); {
	case r.Method == http.MethodPost:
		return wayCreate
	case r.Method == http.MethodPut:
		return wayReplace
	case r.Method != http.MethodPatch:
		return ""
	case kind == types.ApplyYAMLPatchType, kind == types.ApplyCBORPatchType:
		return wayApply
	case kind == types.MergePatchType, kind == types.StrategicMergePatchType:
		return wayMerge
	}

	return ""
}

const typeJSON = runtime.ContentTypeJSON

// contentType without parameters; JSON where there is none.
func contentType(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(cmp.Or(h.Get("Content-Type"), typeJSON))

	return kind
}

// targetKey is the key of the target in the context of a request.
type targetKey struct{}

// mark what requests write. What the API server refuses, or does not understand, passes as it is.
func (m *marker) mark(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, ok := targetOf(r.URL)
		if !ok || !t.markable() {
			next.ServeHTTP(w, r)
			return
		}

		r = r.WithContext(context.WithValue(r.Context(), targetKey{}, t))

		way := wayOf(r)
		if way == "" {
			next.ServeHTTP(w, r)
			return
		}

		size := sizeOf(r.ContentLength)
		if m.requests.Acquire(r.Context(), size) != nil {
			return
		}
		defer m.requests.Release(size)

		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err != nil {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "cannot read the object: "+err.Error())
			return
		}

		if len(body) > maxBody {
			refuse(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
				"the object is longer than the API server takes")
			return
		}

		if body, err = m.marked(r, way, t, body); err != nil {
			refuse(w, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
				"objects of this run get marks, for which "+err.Error())
			return
		}

		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Accept-Encoding") // The answer is read.
		next.ServeHTTP(w, r)
	})
}

// sizeOf a body of some length, which is negative if it is unknown: how many bytes of it are read at most.
func sizeOf(length int64) int64 {
	if length < 0 {
		return maxBody
	}

	return min(length, maxBody)
}

// marked is the body of a request, with marks. The error says why it gets none.
func (m *marker) marked(r *http.Request, way string, t target, body []byte) ([]byte, error) {
	owns := m.owns && m.makes(r, way)
	if !owns && !m.labels {
		return body, nil
	}

	m.decoding.Lock()
	defer m.decoding.Unlock()

	switch kind := contentType(r.Header); kind {
	case typeProtobuf:
		return injectProtobuf(body, m.marksOf(t.namespace, owns))
	case typeJSON, string(types.MergePatchType), string(types.StrategicMergePatchType):
	case "application/yaml", string(types.ApplyYAMLPatchType):
		text, err := jsonOf(body)
		if err != nil {
			return nil, err
		}

		if text == nil {
			return body, nil // The API server says what is wrong with it.
		}

		body = text

		if kind == "application/yaml" {
			r.Header.Set("Content-Type", typeJSON)
		}
	default:
		return nil, errors.Errorf("they have to be JSON, YAML or Protobuf and not %s", kind)
	}

	return inject(body, m.marksOf(t.namespace, owns))
}

// jsonOf YAML; nil if there is nothing. Most clients write JSON in its place.
func jsonOf(text []byte) ([]byte, error) {
	if json.Valid(text) {
		return text, nil
	}

	if len(text) > maxDecoded {
		return nil, errors.Errorf("YAML has to have %d bytes at most; JSON may have more", maxDecoded)
	}

	root, err := yamltext.Parse(string(text))

	switch {
	case err != nil:
		return nil, errors.Wrap(err, "YAML has to be readable")
	case root == nil:
		return nil, nil
	case hasAlias(root):
		return nil, errors.New("YAML has to have no aliases; JSON has none")
	}

	text, _ = yaml.YAMLToJSON(text)

	return text, nil
}

// hasAlias is true for YAML that repeats a part of itself.
func hasAlias(n *yamlv3.Node) bool {
	return n.Kind == yamlv3.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// makes is true for a request that creates an object, and for one that writes an object as a whole which
// the run has created: it would lose its owner.
func (m *marker) makes(r *http.Request, way string) bool {
	switch way {
	case wayCreate:
		return true
	case wayMerge:
		return false
	}

	if m.answers.Acquire(r.Context(), maxBody) != nil {
		return false
	}
	defer m.answers.Release(maxBody)

	o, err := m.get(r)

	switch {
	case err != nil:
		return false
	case o == nil:
		return way == wayApply
	}

	return m.hasOwner(o)
}

// hasOwner is true for an object that has the AnsibleRun as an owner, or says so in its annotations.
func (m *marker) hasOwner(o *metav1.PartialObjectMetadata) bool {
	return o.Annotations[annotationOwner] == m.qualified() && o.Annotations[annotationOwnerType] == m.groupKind() ||
		slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == m.object.UID })
}

// group of the AnsibleRun.
func (m *marker) group() string {
	if m.object.Namespace == "" {
		return common.GroupCluster
	}

	return common.GroupNamespaced
}

func (m *marker) groupKind() string { return common.KindAnsibleRun + "." + m.group() }

// qualified name of the AnsibleRun.
func (m *marker) qualified() string {
	return strings.TrimPrefix(m.object.Namespace+"/"+m.object.Name, "/")
}

// marks of an object.
type marks struct {
	labels, annotations map[string]string
	owner               *metav1.OwnerReference
}

// marksOf an object in a namespace, or of a patch of one.
func (m *marker) marksOf(namespace string, owns bool) marks {
	var of marks

	if m.labels {
		of.labels = map[string]string{dependents.Label(m.object.UID): "true"}
	}

	switch {
	case !owns:
	// An owner is cluster scoped, or in the same namespace.
	case m.object.Namespace == "" || m.object.Namespace == namespace:
		of.owner = &metav1.OwnerReference{
			APIVersion: m.group() + "/" + common.Version, Kind: common.KindAnsibleRun, Name: m.object.Name, UID: m.object.UID,
		}
	default:
		of.annotations = map[string]string{annotationOwner: m.qualified(), annotationOwnerType: m.groupKind()}
	}

	return of
}

// inject marks into an object, or a patch of one. All else stays as it is written. The error says why that cannot be
// done.
func inject(body []byte, marks marks) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if brace, _ := d.Token(); brace != json.Delim('{') || !json.Valid(body) {
		return body, nil
	}

	out, found := bytes.NewBufferString("{"), false
	write := func(field any, value json.RawMessage) {
		if out.Len() > 1 {
			out.WriteByte(',')
		}

		out.Write(encode(field))
		out.WriteByte(':')
		out.Write(value)
	}

	for d.More() {
		var value json.RawMessage

		field, _ := d.Token() // It is valid.
		_ = d.Decode(&value)

		if field == "metadata" {
			switch {
			case found:
				return nil, errors.New("their metadata has to be there once")
			case len(value) > maxDecoded:
				return nil, errLongMetadata
			}

			found, value = true, marks.in(value)
		}

		write(field, value)
	}

	if !found {
		write("metadata", marks.in(nil))
	}

	out.WriteByte('}')

	return out.Bytes(), nil
}

// in the metadata of an object: the same with the marks.
func (m marks) in(metadata json.RawMessage) json.RawMessage {
	var meta map[string]json.RawMessage

	_ = json.Unmarshal(metadata, &meta) // What is no mapping the API server refuses.
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}

	for field, more := range map[string]map[string]string{"labels": m.labels, "annotations": m.annotations} {
		if len(more) == 0 {
			continue
		}

		values := map[string]json.RawMessage{}
		_ = json.Unmarshal(meta[field], &values)

		if values == nil {
			values = map[string]json.RawMessage{}
		}

		for key, value := range more {
			values[key] = encode(value)
		}

		meta[field] = encode(values)
	}

	if m.owner != nil {
		var owners []json.RawMessage

		_ = json.Unmarshal(meta["ownerReferences"], &owners)
		owners = slices.DeleteFunc(owners, func(raw json.RawMessage) bool {
			var r metav1.OwnerReference

			return json.Unmarshal(raw, &r) == nil && r.UID == m.owner.UID
		})
		meta["ownerReferences"] = encode(append(owners, encode(m.owner)))
	}

	return encode(meta)
}

// encode a value that has nothing that JSON does not have. It is no longer than it was written: no text is for HTML.
func encode(v any) json.RawMessage {
	out := &bytes.Buffer{}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)

	_ = e.Encode(v) //nolint:errchkjson // See above.

	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// learn the kinds of objects with the label, and what is deleted, from the answers of the API server.
func (m *marker) learn(rsp *http.Response) error {
	r := rsp.Request
	t, ok := r.Context().Value(targetKey{}).(target)

	if !m.labels || !ok || rsp.StatusCode/100 != 2 || r.URL.Query().Has("dryRun") {
		return nil
	}

	if r.Method == http.MethodDelete {
		m.delete(t)
		return nil
	}

	writes := r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch
	if kind := contentType(rsp.Header); !writes || kind != typeJSON && kind != typeProtobuf {
		return nil
	}

	head, err := m.read(rsp)
	if err != nil {
		return err
	}

	m.decoding.Lock()
	o := metadataIn(contentType(rsp.Header), head)
	m.decoding.Unlock()

	if _, labeled := o.Labels[dependents.Label(m.object.UID)]; labeled {
		m.add(common.DependentKind{APIVersion: t.apiVersion(), Kind: o.Kind, Resource: t.resource, Namespace: t.namespace})
	}

	return nil
}

// read an answer, or the beginning of one that is too long to be understood. It passes on as it is.
func (m *marker) read(rsp *http.Response) ([]byte, error) {
	size := sizeOf(rsp.ContentLength)
	if err := m.answers.Acquire(rsp.Request.Context(), size); err != nil {
		return nil, err
	}

	head, err := io.ReadAll(io.LimitReader(rsp.Body, maxBody))
	rsp.Body = &answer{
		io.MultiReader(bytes.NewReader(head), rsp.Body), rsp.Body,
		sync.OnceFunc(func() { m.answers.Release(size) }),
	}

	return head, err
}

// metadataIn an answer. Something else than an object has no labels.
func metadataIn(kind string, text []byte) metav1.PartialObjectMetadata {
	o := metav1.PartialObjectMetadata{}
	if kind == typeJSON {
		_ = json.Unmarshal(text, &o)
		return o
	}

	if _, read, err := readProtobuf(text); err == nil {
		o = *read
	}

	return o
}

// An answer that was read passes on, and takes memory until it is closed.
type answer struct {
	io.Reader
	io.Closer

	release func()
}

// Close the answer.
func (a *answer) Close() error {
	a.release()

	return a.Closer.Close()
}

// add a kind, unless it is known or there are too many.
func (m *marker) add(k common.DependentKind) {
	m.mu.Lock()
	defer m.mu.Unlock()

	k.Digest = ""

	known := slices.ContainsFunc(m.kinds, func(other common.DependentKind) bool {
		other.Kind = k.Kind

		return other == k
	})
	if !known && len(m.kinds) < maxKinds {
		m.kinds = append(m.kinds, k)
	}
}

// delete notes that the run has deleted an object, or all of a kind in a namespace, unless it has deleted too many.
func (m *marker) delete(t target) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if len(m.deleted) < maxDeleted &&
		max(len(t.group), len(t.resource), len(t.namespace), len(t.name)) <= validation.DNS1123SubdomainMaxLength {
		t.version = ""
		m.deleted[t] = struct{}{}
	}
}

// hasDeleted is true for an object that the run has deleted, by itself, with others, or with its namespace.
func (m *marker) hasDeleted(k common.DependentKind, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	gv, _ := schema.ParseGroupVersion(k.APIVersion)
	t := target{group: gv.Group, namespace: k.Namespace, resource: k.Resource}
	_, all := m.deleted[t]

	t.name = name
	_, one := m.deleted[t]
	_, space := m.deleted[target{resource: "namespaces", name: k.Namespace}]

	return all || one || space
}

// known kinds.
func (m *marker) known() []common.DependentKind {
	m.mu.Lock()
	defer m.mu.Unlock()

	return append([]common.DependentKind{}, m.kinds...)
}
