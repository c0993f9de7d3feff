// Package dependents watches the metadata of the objects that the runs of an AnsibleRun have made in the cluster. When
// an object is changed or deleted between two runs, the AnsibleRun is woken. Changes during a run are ignored, since
// the digests in the status are those at the end of the run.
package dependents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Label returns the key of the label on objects that the runs of an AnsibleRun have made or changed. Each AnsibleRun
// has its own key, so that an object can be a dependent of several.
func Label(uid types.UID) string { return "dependent-of." + common.GroupCluster + "/" + string(uid) }

// Check returns an error for kinds that no run reports.
func Check(kinds []common.DependentKind) error {
	if len(kinds) > common.MaxDependents {
		return errors.Errorf("there are %d kinds of dependents, more than %d", len(kinds), common.MaxDependents)
	}

	known := map[string]bool{}

	for _, k := range kinds {
		_, err := schema.ParseGroupVersion(k.APIVersion)
		names := []string{k.Kind, k.Resource, k.Namespace}

		// The API server has no object with such a name, and the name would change the path of the request.
		if err != nil ||
			slices.ContainsFunc(names, func(s string) bool { return len(s) > 253 || len(content.IsPathSegmentName(s)) > 0 }) ||
			k.Kind == "" || k.Resource == "" || len(k.Digest) > 64 {
			return errors.Errorf("%q is not a valid kind of dependents", k.Resource)
		}

		// A resource has one kind, and is watched once.
		if known[name(k)] {
			return errors.Errorf("there are two kinds of %s", name(k))
		}

		known[name(k)] = true
	}

	return nil
}

// page is how many objects are listed at a time. The metadata of one object may exceed a mebibyte, and lists of several
// AnsibleRuns run concurrently.
const page = 10

// A state has the versions of objects by their uids.
type state map[types.UID]string

// terminating is the only version of an object that is being deleted. The value is part of digests in the status.
const terminating = "leaving"

// found has the listed objects of a kind.
type found struct {
	// present has the objects that are not being deleted, and terminating the names of the others by uid.
	present     state
	terminating map[types.UID]string
	// at is the resource version of the list.
	at string
}

// including returns the state of the objects, with those that are being deleted if counts is true for them.
func (f found) including(counts func(name string) bool) state {
	s := maps.Clone(f.present)

	for uid, name := range f.terminating {
		if counts(name) {
			s[uid] = terminating
		}
	}

	return s
}

// compare returns the state of the objects, and whether its digest is the given one. An empty digest is unknown, and
// equals any. The digest may or may not include objects that are being deleted.
func (f found) compare(digest string) (state, bool) {
	if all := f.including(func(string) bool { return true }); all.digest() == digest {
		return all, true
	}

	return f.present, digest == "" || f.present.digest() == digest
}

// digest of the state.
func (s state) digest() string {
	lines := make([]string, 0, len(s))
	for uid, version := range s {
		lines = append(lines, string(uid)+" "+version)
	}

	slices.Sort(lines)

	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))

	return hex.EncodeToString(sum[:16])
}

// version returns a string that changes with every part of an object but its status. Kinds with a generation count the
// changes of their specs. Other kinds, such as ConfigMaps, have managed fields that say which manager has changed which
// fields, and when.
func version(o *metav1.PartialObjectMetadata) string {
	if o.Generation > 0 {
		return strconv.FormatInt(o.Generation, 10)
	}

	if len(o.ManagedFields) == 0 {
		return o.ResourceVersion
	}

	h := sha256.New()

	for _, f := range o.ManagedFields {
		if f.Subresource != "" {
			continue
		}

		_, _ = fmt.Fprintf(h, "%q %q %v ", f.Manager, f.Operation, f.Time)

		if f.FieldsV1 != nil {
			_, _ = fmt.Fprintf(h, "%q\n", f.FieldsV1.GetRawString())
		}
	}

	return hex.EncodeToString(h.Sum(nil)[:8])
}

// resource returns the client of a kind.
func resource(c metadata.Interface, k common.DependentKind) metadata.ResourceInterface {
	gv, _ := schema.ParseGroupVersion(k.APIVersion) // It is valid, see Check.

	return c.Resource(gv.WithResource(k.Resource)).Namespace(k.Namespace)
}

// list the objects of a kind. A kind that no longer exists has no objects.
func list(ctx context.Context, c metadata.Interface, uid types.UID, k common.DependentKind) (found, error) {
	all := found{present: state{}, terminating: map[types.UID]string{}}

	for o := (metav1.ListOptions{LabelSelector: Label(uid), Limit: page}); ; {
		l, err := resource(c, k).List(ctx, o)
		if kerrors.IsNotFound(err) {
			return found{present: state{}}, nil
		}

		if err != nil {
			return all, errors.Wrapf(err, "cannot list %s", name(k))
		}

		all.at = l.ResourceVersion // All pages have the same.

		for i := range l.Items {
			if item := &l.Items[i]; item.DeletionTimestamp == nil {
				all.present[item.UID] = version(item)
			} else {
				all.terminating[item.UID] = item.Name
			}
		}

		if o.Continue = l.Continue; o.Continue == "" {
			return all, nil
		}
	}
}

// name returns the resource of a kind with its namespace, for messages.
func name(k common.DependentKind) string {
	if k.Namespace == "" {
		return fmt.Sprintf("%s of %s", k.Resource, k.APIVersion)
	}

	return fmt.Sprintf("%s of %s in namespace %q", k.Resource, k.APIVersion, k.Namespace)
}

// A Run that has ended.
type Run struct {
	// UID of its AnsibleRun.
	UID types.UID
	// Watched is true for a kind that is watched.
	Watched func(k common.DependentKind) bool
	// Deleted is true for an object that the run itself has deleted. Survey treats such an object as gone. The end of any
	// other object that is being deleted is a change, since the run has found it.
	Deleted func(k common.DependentKind, name string) bool
}

// Survey returns the kinds of an AnsibleRun's dependents at the end of a run, up to common.MaxDependents, with the
// digests of their objects. Kinds without objects are left out. The digest of a kind that is not watched, or cannot be
// listed, is empty.
func Survey(ctx context.Context, c metadata.Interface, run Run, kinds []common.DependentKind) []common.DependentKind {
	left := []common.DependentKind{}

	for _, k := range kinds {
		if len(left) == common.MaxDependents {
			break
		}

		if run.Watched(k) {
			all, err := list(ctx, c, run.UID, k)
			s := all.including(func(name string) bool { return !run.Deleted(k, name) })

			if err == nil && len(s) == 0 {
				continue
			}

			if err == nil {
				k.Digest = s.digest()
			}
		}

		left = append(left, k)
	}

	return left
}
