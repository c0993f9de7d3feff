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

// Annotations of objects that cannot have their AnsibleRun as an owner. Ansible operators use the same annotations.
const (
	annotationOwner     = "operator-sdk/primary-resource"
	annotationOwnerType = "operator-sdk/primary-resource-type"
)

const (
	// maxBody is the largest body that is read, in bytes. The API server takes 3 MiB.
	maxBody = 4 << 20
	// maxRead is the number of requests of a run with bodies in memory at a time.
	maxRead = 8
	// maxDecoded is the largest metadata, and the largest YAML, in bytes. Decoded they take up to a hundred times as much.
	// Aliases in YAML could take even more, and are refused.
	maxDecoded = 512 << 10
	// maxKinds is the number of kinds that are known during a run. It is above MaxDependents since objects of earlier runs
	// may be gone.
	maxKinds = 2 * common.MaxDependents
	// maxDeleted is the number of deleted objects of a run that are remembered.
	maxDeleted = 10_000
)

// errLongMetadata says why an object gets no marks.
var errLongMetadata = errors.Errorf("their metadata must have at most %d bytes", maxDecoded)

// A target is the object, or the resource, in the path of a request.
type target struct {
	group, version, namespace, resource, name, subresource string
}

// targetOf parses the path of a request as the API server does. It returns false for a request that is not about
// objects.
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

// markable is true for objects that persist. The API server does not store reviews, and events expire.
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

// wayOf returns how a request writes an object. It is empty for a request that does not, and for a JSON patch, which
// has no place for marks.
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

// contentType returns the content type without parameters. The default is JSON.
func contentType(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(cmp.Or(h.Get("Content-Type"), typeJSON))

	return kind
}

// withMarks returns the body of a request with marks. A body that the API server will refuse passes unchanged. The
// error says what is wrong with the objects.
func (p *proxy) withMarks(r *http.Request, way string, t target, body []byte) ([]byte, error) {
	owns := p.k.OwnerReferences && p.needsOwner(r.Context(), way, t)
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
			return body, nil // The API server refuses it with a reason.
		}

		body = text

		if kind == "application/yaml" {
			r.Header.Set("Content-Type", typeJSON)
		}
	default:
		return nil, errors.Errorf("they must be JSON, YAML or Protobuf, not %s", kind)
	}

	return inject(body, p.marksOf(t.namespace, owns))
}

// jsonOf converts YAML to JSON; nil for an empty document. Most clients send JSON as the content type YAML.
func jsonOf(text []byte) ([]byte, error) {
	if json.Valid(text) {
		return text, nil
	}

	if len(text) > maxDecoded {
		return nil, errors.Errorf("YAML must have at most %d bytes; JSON may have more", maxDecoded)
	}

	root, err := yamltext.Parse(string(text))

	switch {
	case err != nil:
		return nil, errors.Wrap(err, "their YAML must be valid")
	case root == nil:
		return nil, nil
	case hasAlias(root):
		return nil, errors.New("YAML must not have aliases; JSON has none")
	}

	text, _ = yaml.YAMLToJSON(text)

	return text, nil
}

// hasAlias is true for YAML with an alias.
func hasAlias(n *yamlv3.Node) bool {
	return n.Kind == yamlv3.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// needsOwner is true for a request that creates an object, or that replaces an object which the run has created: that
// would remove its owner.
func (p *proxy) needsOwner(ctx context.Context, way string, t target) bool {
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

// group returns the API group of the AnsibleRun.
func (p *proxy) group() string {
	if p.run.Object.Namespace == "" {
		return common.GroupCluster
	}

	return common.GroupNamespaced
}

func (p *proxy) groupKind() string { return common.KindAnsibleRun + "." + p.group() }

// qualified returns the name of the AnsibleRun with its namespace.
func (p *proxy) qualified() string {
	return strings.TrimPrefix(p.run.Object.Namespace+"/"+p.run.Object.Name, "/")
}

// marks are the metadata that the proxy adds to an object.
type marks struct {
	labels, annotations map[string]string
	owner               *metav1.OwnerReference
}

// marksOf returns the marks of an object in a namespace.
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

// inject adds marks to an object in JSON, or to a patch of an object. The rest of the text is unchanged. The error says
// why that is impossible.
func inject(body []byte, marks marks) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if brace, _ := d.Token(); brace != json.Delim('{') || !json.Valid(body) {
		return body, nil
	}

	// An object without metadata gets it as its first field.
	start, metadata, field, end := d.InputOffset(), json.RawMessage(nil), `"metadata":`, ""
	if d.More() {
		end = ","
	}

	for d.More() {
		var value json.RawMessage

		name, _ := d.Token() // The JSON is valid.
		_ = d.Decode(&value)

		switch {
		case name != "metadata":
		case metadata != nil:
			return nil, errors.New("they must have the field metadata only once")
		case len(value) > maxDecoded:
			return nil, errLongMetadata
		default:
			start, metadata, field, end = d.InputOffset()-int64(len(value)), value, "", ""
		}
	}

	rest := body[start+int64(len(metadata)):]

	return slices.Concat(body[:start], []byte(field), marks.addTo(metadata), []byte(end), rest), nil
}

// addTo returns the metadata of an object with the marks added.
func (m marks) addTo(metadata json.RawMessage) json.RawMessage {
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

// members returns the members of a JSON object, or an empty map for any other value, which the API server refuses.
func members(text json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	if json.Unmarshal(text, &all) != nil || all == nil {
		return map[string]json.RawMessage{}
	}

	return all
}

// recordWrites records from the API server's answers which kinds of objects the run has labeled, and which objects it
// has deleted.
func (p *proxy) recordWrites(rsp *http.Response) {
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

// add records kinds, up to maxKinds. If dependents are watched, it reports all kinds so far.
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

// delete records that the run has deleted an object, or all objects of a kind in a namespace, up to maxDeleted.
func (p *proxy) delete(t target) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if len(p.deleted) < maxDeleted &&
		max(len(t.group), len(t.resource), len(t.namespace), len(t.name)) <= validation.DNS1123SubdomainMaxLength {
		t.version = ""
		p.deleted[t] = struct{}{}
	}
}

// hasDeleted is true for an object that the run has deleted by its name, with all of its kind, or with its namespace.
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

// known returns a copy of the known kinds.
func (p *proxy) known() []common.DependentKind {
	p.mu.Lock()
	defer p.mu.Unlock()

	return append([]common.DependentKind{}, p.kinds...)
}
