package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/edits"
)

var (
	editSeeds  = flag.String("edits.seeds", "1,2", "Seeds of TestEdits, separated by commas.")
	editRounds = flag.Int("edits.rounds", 3, "Rounds of edits of each seed of TestEdits.")
)

// An editSession applies the edits of a session to the control plane.
type editSession struct {
	*edits.Session

	namespace string
	// composition and xr count what was applied.
	composition, xr int
	// read lines of the ledger so far.
	read int
}

// TestEdits edits Compositions and XRs at random. Nothing may be removed but what an edit has
// asked for, dependents are removed first, nothing runs twice for the same inputs, and the end is
// what the last edit says. TestEdits of the function has many more sessions, with an imitation of
// core.
func TestEdits(t *testing.T) {
	t.Parallel()

	cp.Apply(t, definition{kind: "Edited", scope: "Namespaced", status: "composition: {type: integer}, xr: {type: integer}"}.String(), nil)

	for text := range strings.SplitSeq(*editSeeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		must(t, err)

		t.Run("Seed"+text, func(t *testing.T) {
			t.Parallel()

			s := &editSession{Session: edits.New(seed, directory(t)), namespace: cp.Namespace(t)}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("-args -edits.seeds=%s -edits.rounds=%d:\n%s", text, *editRounds, strings.Join(s.Log, "\n"))
				}
			})
			s.run(t)
		})
	}
}

func (s *editSession) run(t *testing.T) {
	t.Helper()
	cp.Apply(t, "apiVersion: "+apiNamespaced+"\nkind: ProviderConfig\nmetadata: {namespace: "+s.namespace+", name: default}\nspec: {}\n", nil)

	s.apply(t, true, true)
	t.Cleanup(func() { cp.CleanUp(t, s.object()) })
	s.settle(t)

	for range *editRounds {
		s.round(t)
	}

	s.Right()
	s.apply(t, true, true)
	s.settle(t)
	s.end(t)
}

func (s *editSession) object() Object {
	return Object{APIVersion: apiXR, Kind: "Edited", Namespace: s.namespace, Name: "site"}
}

// round of edits, which are applied one after the other without any waiting.
func (s *editSession) round(t *testing.T) {
	t.Helper()

	if free := s.Deletable(); len(free) > 0 && s.Chance(6) {
		s.deleteByHand(t, free[s.Pick(len(free))])
	}

	var paused []Object
	if s.Chance(6) {
		paused = append(paused, s.object())
	}
	if runs := s.runs(t); len(runs) > 0 && s.Chance(6) {
		paused = append(paused, ObjectOf(&runs[s.Pick(len(runs))]))
	}
	for _, o := range paused {
		s.Notef("pause %s", o)
		s.pause(t, o, true)
	}
	for range 1 + s.Pick(3) {
		composition, xr := s.Edit()
		s.apply(t, composition, xr)
	}
	for _, o := range paused {
		s.pause(t, o, nil)
	}
	s.settle(t)
}

// pause an object, or go on with it, unless it is gone.
func (s *editSession) pause(t *testing.T, o Object, paused any) {
	t.Helper()
	if paused != nil {
		paused = fmt.Sprint(paused)
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"crossplane.io/paused": paused}}})
	must(t, err)
	must(t, client.IgnoreNotFound(cp.Kube.Patch(t.Context(), o.Unstructured(), client.RawPatch("application/merge-patch+json", b))))
}

// called is the composition resource name of a composed resource.
func called(u *unstructured.Unstructured) string {
	return u.GetAnnotations()["crossplane.io/composition-resource-name"]
}

func (s *editSession) deleteByHand(t *testing.T, name string) {
	t.Helper()
	for _, u := range s.runs(t) {
		if called(&u) != name {
			continue
		}
		// A Usage that is not needed any more may still be there.
		Eventually(t, "the AnsibleRun to be deleted", func() bool {
			return client.IgnoreNotFound(cp.Kube.Delete(t.Context(), ObjectOf(&u).Unstructured())) == nil
		})
		s.Deleted(name)
		return
	}
	t.Fatalf("there is no %s", name)
}

// runs are the AnsibleRuns that there are.
func (s *editSession) runs(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	return cp.List(t, apiNamespaced, "AnsibleRun", s.namespace)
}

// settle waits until the AnsibleRuns are those that the model predicts, and judges the plays.
func (s *editSession) settle(t *testing.T) {
	t.Helper()
	var why string
	err := Await(t.Context(), func() bool {
		for _, l := range s.ledger(t) {
			s.wrong(t, s.Record(l))
		}
		why = s.differs(t)
		return why == ""
	})
	if err != nil {
		t.Fatalf("%s: %s\n%s", err, why, cp.Describe(context.Background(), s.object()))
	}
	s.wrong(t, s.Unapplied())
}

func (s *editSession) wrong(t *testing.T, all []string) {
	t.Helper()
	if len(all) > 0 {
		t.Fatalf("%s\n%s", strings.Join(all, "\n"), cp.Describe(context.Background(), s.object()))
	}
}

// differs says how the AnsibleRuns differ from all predictions; "" if they are as predicted.
func (s *editSession) differs(t *testing.T) string {
	t.Helper()
	xr := cp.Get(t, s.object())
	if Value(xr, "status.composition") != int64(s.composition) || Value(xr, "status.xr") != int64(s.xr) {
		return fmt.Sprintf("the XR is not composed with Composition %d and XR %d: status is %v", s.composition, s.xr, Value(xr, "status"))
	}

	got := map[string]edits.Entry{}
	for _, u := range s.runs(t) {
		if u.GetDeletionTimestamp() != nil {
			return called(&u) + " is being deleted"
		}
		for _, c := range []string{"Ready", "Synced"} {
			if !Condition(c, "True").Met(&u) {
				return called(&u) + " is not " + c
			}
		}
		vars, _ := Value(&u, "spec.forProvider.vars").(map[string]any)
		unsafe, _ := Value(&u, "spec.forProvider.unsafeVars").(map[string]any)
		of := func(name string) string {
			if v, ok := unsafe[name]; ok {
				return fmt.Sprint(v)
			}
			return fmt.Sprint(vars[name])
		}
		got[called(&u)] = edits.Entry{Thing: of("thing"), Form: of("form"), Value: of("value"), Upstream: of("upstream")}
	}
	why, _ := s.Reached(got, ConditionOf(xr, "Ready")["status"] == "True" && ConditionOf(xr, "AnsibleRunsReady")["status"] == "True")
	return why
}

// ledger returns the lines that are new.
func (s *editSession) ledger(t *testing.T) []edits.Entry {
	t.Helper()
	f, err := os.Open(filepath.Join(s.Directory, "ledger"))
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	defer f.Close()

	var all []edits.Entry
	scan := bufio.NewScanner(f)
	for n := 0; scan.Scan(); n++ {
		w := strings.Fields(scan.Text())
		if n < s.read {
			continue
		}
		if len(w) != 7 {
			break // It is being written.
		}
		s.read++
		all = append(all, edits.Entry{Thing: w[0], Form: w[1], Value: w[2], Upstream: w[3], State: w[4], Run: w[5], Begins: w[6] == "begins"})
	}
	return all
}

// end deletes the XR.
func (s *editSession) end(t *testing.T) {
	t.Helper()
	s.Notef("delete the XR")
	runs := s.runs(t)
	cp.Delete(t, s.object())
	for _, u := range runs {
		cp.WaitGone(t, ObjectOf(&u))
	}
	cp.WaitGone(t, s.object())
	s.wrong(t, s.Ended(s.ledger(t)))
}

// apply the Composition, the XR, or both, as they are now.
func (s *editSession) apply(t *testing.T, composition, xr bool) {
	t.Helper()
	name := "edited-" + s.namespace
	if xr {
		s.xr++
		spec := s.Spec(s.xr)
		spec["crossplane"] = map[string]any{"compositionRef": map[string]any{"name": name}}
		s.send(t, map[string]any{
			"apiVersion": apiXR, "kind": "Edited", "spec": spec,
			"metadata": map[string]any{"name": "site", "namespace": s.namespace, "annotations": map[string]any{"ansible.fn.crossplane.io/allow-removal": s.Allowed()}},
		})
	}
	if composition {
		s.composition++
		s.send(t, map[string]any{
			"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"compositeTypeRef": map[string]any{"apiVersion": apiXR, "kind": "Edited"}, "mode": "Pipeline",
				"pipeline": []any{map[string]any{"step": "run-ansible", "functionRef": map[string]any{"name": "function-ansible"}, "input": s.Input(s.composition)}},
			},
		})
		// Core may give two revisions the same number, and alternate between them, when it makes
		// one before it has seen the other.
		Eventually(t, "the revision of the Composition", func() bool {
			return slices.ContainsFunc(cp.List(t, "apiextensions.crossplane.io/v1", "CompositionRevision", ""), func(u unstructured.Unstructured) bool {
				return u.GetLabels()["crossplane.io/composition-name"] == name && Value(&u, "spec.revision") == int64(s.composition)
			})
		})
	}
	s.Applied()
}

func (s *editSession) send(t *testing.T, o map[string]any) {
	t.Helper()
	b, err := json.Marshal(o)
	must(t, err)
	u := &unstructured.Unstructured{}
	must(t, u.UnmarshalJSON(b))
	if err := cp.ServerApply(t.Context(), u); err != nil {
		t.Fatalf("cannot apply %s: %s\n%s", u.GetName(), err, b)
	}
}
