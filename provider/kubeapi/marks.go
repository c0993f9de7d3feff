package kubeapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
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
	// maxRead are the requests of a run of which bodies are read at a time.
	maxRead = 8
	// maxDecoded is the length of the longest metadata, and of the longest YAML, in bytes. When they are decoded they
	// take up to a hundred times as much. YAML with aliases, which has no such bound, is refused.
	maxDecoded = 512 << 10
	// maxKinds that are known while a run lasts. Of some of those that earlier runs have made nothing may be left.
	maxKinds = 2 * common.MaxDependents
	// maxDeleted are the objects that a run has deleted and that are known.
	maxDeleted = 10_000
)

// errLongMetadata says why an object gets no marks.
var errLongMetadata = errors.Errorf("their metadata has to have %d bytes at most", maxDecoded)

// A target is what the path of a request is about.
type target struct {
	group, version, namespace, resource, name, subresource string
}

// targetOf a request, as the API server sees it. It is false for a request that is not about objects.
func targetOf(r *http.Request) (target, bool) {
	paths := request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}

	info, err := paths.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest || info.Verb == "watch" || len(info.Parts) > 3 {
		return target{}, false
	}

	t := target{info.APIGroup, info.APIVersion, info.Namespace, info.Resource, info.Name, info.Subresource}
	if t.group == "" && t.resource == "namespaces" {
		t.namespace = ""
	}

	return t, true
}

// markable is true for objects that stay. The API server keeps no reviews, and events only for a while.
func (t target) markable() bool {
	groups := []string{"authentication.k8s.io", "authorization.k8s.io", "events.k8s.io"}

	return t.subresource == "" && !slices.Contains(groups, t.group) &&
		(t.group != "" || t.resource != "events" && t.resource != "bindings")
}

// apiVersion of the target.
func (t target) apiVersion() string {
	return schema.GroupVersion{Group: t.group, Version: t.version}.String()
}

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

// marked is the body of a request, with marks. What the API server refuses, or does not understand, passes as it is.
// The error says why it gets none.
func (p *proxy) marked(r *http.Request, way string, t target, body []byte) ([]byte, error) {
	owns := p.k.OwnerReferences && p.makes(r.Context(), way, t)
	if !owns && !p.k.WatchDependents {
		return body, nil
	}

	p.decoding.Lock()
	defer p.decoding.Unlock()

	switch kind := contentType(r.Header); kind {
	case typeProtobuf:
		return injectProtobuf(body, p.marksOf(t.namespace, owns)), nil
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

	return inject(body, p.marksOf(t.namespace, owns))
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
func (p *proxy) makes(ctx context.Context, way string, t target) bool {
	switch way {
	case wayCreate:
		return true
	case wayMerge:
		return false
	}

	gvr := schema.GroupVersionResource{Group: t.group, Version: t.version, Resource: t.resource}

	o, err := p.kube.Resource(gvr).Namespace(t.namespace).Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return kerrors.IsNotFound(err) && way == wayApply
	}

	return o.Annotations[annotationOwner] == p.qualified() && o.Annotations[annotationOwnerType] == p.groupKind() ||
		slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == p.run.Object.UID })
}

// group of the AnsibleRun.
func (p *proxy) group() string {
	if p.run.Object.Namespace == "" {
		return common.GroupCluster
	}

	return common.GroupNamespaced
}

func (p *proxy) groupKind() string { return common.KindAnsibleRun + "." + p.group() }

// qualified name of the AnsibleRun.
func (p *proxy) qualified() string {
	return strings.TrimPrefix(p.run.Object.Namespace+"/"+p.run.Object.Name, "/")
}

// marks of an object.
type marks struct {
	labels, annotations map[string]string
	owner               *metav1.OwnerReference
}

// marksOf an object in a namespace, or of a patch of one.
func (p *proxy) marksOf(namespace string, owns bool) marks {
	o, of := p.run.Object, marks{}

	if p.k.WatchDependents {
		of.labels = map[string]string{dependents.Label(o.UID): "true"}
	}

	switch {
	case !owns:
	// An owner is cluster scoped, or in the same namespace.
	case o.Namespace == "" || o.Namespace == namespace:
		of.owner = &metav1.OwnerReference{
			APIVersion: p.group() + "/" + common.Version, Kind: common.KindAnsibleRun, Name: o.Name, UID: o.UID,
		}
	default:
		of.annotations = map[string]string{annotationOwner: p.qualified(), annotationOwnerType: p.groupKind()}
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

	// Without metadata the object begins with it.
	start, metadata, field, end := d.InputOffset(), json.RawMessage(nil), `"metadata":`, ""
	if d.More() {
		end = ","
	}

	for d.More() {
		var value json.RawMessage

		name, _ := d.Token() // It is valid.
		_ = d.Decode(&value)

		switch {
		case name != "metadata":
		case metadata != nil:
			return nil, errors.New("their metadata has to be there once")
		case len(value) > maxDecoded:
			return nil, errLongMetadata
		default:
			start, metadata, field, end = d.InputOffset()-int64(len(value)), value, "", ""
		}
	}

	rest := body[start+int64(len(metadata)):]

	return slices.Concat(body[:start], []byte(field), marks.in(metadata), []byte(end), rest), nil
}

// in the metadata of an object: the same with the marks.
func (m marks) in(metadata json.RawMessage) json.RawMessage {
	meta := members(metadata)

	for field, more := range map[string]map[string]string{"labels": m.labels, "annotations": m.annotations} {
		if len(more) == 0 {
			continue
		}

		values := members(meta[field])
		for key, value := range more {
			values[key] = events.Encode(value)
		}

		meta[field] = events.Encode(values)
	}

	if m.owner != nil {
		var owners []json.RawMessage

		_ = json.Unmarshal(meta["ownerReferences"], &owners)
		owners = slices.DeleteFunc(owners, func(raw json.RawMessage) bool {
			var r metav1.OwnerReference

			return json.Unmarshal(raw, &r) == nil && r.UID == m.owner.UID
		})
		meta["ownerReferences"] = events.Encode(append(owners, events.Encode(m.owner)))
	}

	return events.Encode(meta)
}

// members of a mapping; none of what is no mapping, which the API server refuses.
func members(text json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	if json.Unmarshal(text, &all) != nil || all == nil {
		return map[string]json.RawMessage{}
	}

	return all
}

// learn from the answers of the API server what the run has labeled and deleted.
func (p *proxy) learn(rsp *http.Response) {
	r := rsp.Request
	t, ok := r.Context().Value(targetKey{}).(target)

	switch {
	case !p.k.WatchDependents, !ok, !t.markable(), rsp.StatusCode/100 != 2, r.URL.Query().Has("dryRun"):
	case r.Method == http.MethodDelete:
		p.delete(t)
	case wayOf(r) != "":
		k := common.DependentKind{APIVersion: t.apiVersion(), Resource: t.resource, Namespace: t.namespace}
		if knows(p.known(), k) {
			return
		}

		if k.Kind = p.kindOf(r.Context(), t); k.Kind != "" {
			p.add(k)
		}
	}
}

// add kinds, unless they are known or there are too many. If dependents are watched, those so far are recorded.
func (p *proxy) add(kinds ...common.DependentKind) {
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, k := range kinds {
		if k.Digest = ""; !knows(p.kinds, k) && len(p.kinds) < maxKinds {
			p.kinds = append(p.kinds, k)
		}
	}

	if p.k.WatchDependents {
		p.rec.ReportKinds(append([]common.DependentKind{}, p.kinds[:min(len(p.kinds), common.MaxDependents)]...))
	}
}

// knows is true if a resource is among kinds.
func knows(kinds []common.DependentKind, k common.DependentKind) bool {
	return slices.ContainsFunc(kinds, func(other common.DependentKind) bool {
		return other.APIVersion == k.APIVersion && other.Resource == k.Resource && other.Namespace == k.Namespace
	})
}

// delete notes that the run has deleted an object, or all of a kind in a namespace, unless it has deleted too many.
func (p *proxy) delete(t target) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if len(p.deleted) < maxDeleted &&
		max(len(t.group), len(t.resource), len(t.namespace), len(t.name)) <= validation.DNS1123SubdomainMaxLength {
		t.version = ""
		p.deleted[t] = struct{}{}
	}
}

// hasDeleted is true for an object that the run has deleted, by itself, with others, or with its namespace.
func (p *proxy) hasDeleted(k common.DependentKind, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	gv, _ := schema.ParseGroupVersion(k.APIVersion)
	t := target{group: gv.Group, namespace: k.Namespace, resource: k.Resource}
	_, all := p.deleted[t]

	t.name = name
	_, one := p.deleted[t]
	_, space := p.deleted[target{resource: "namespaces", name: k.Namespace}]

	return all || one || space
}

// known kinds.
func (p *proxy) known() []common.DependentKind {
	p.mu.Lock()
	defer p.mu.Unlock()

	return append([]common.DependentKind{}, p.kinds...)
}
