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
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

var (
	editSeeds  = flag.String("edits.seeds", "1", "Seeds of TestEdits, separated by commas.")
	editRounds = flag.Int("edits.rounds", 3, "Rounds of edits of each seed of TestEdits.")
)

// An editSession is the control plane that a session edits.
type editSession struct {
	*edits.Session

	t         *testing.T
	namespace string
	// composition and xr count what was applied.
	composition, xr int
	// read lines of the ledger so far.
	read int
	// paused objects.
	paused []Object
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
		needs.OK(t, err)

		t.Run("Seed"+text, func(t *testing.T) {
			t.Parallel()

			s := &editSession{t: t, namespace: cp.Namespace(t)}
			s.Session = edits.New(seed, directory(t), s.fail)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("-args -edits.seeds=%s -edits.rounds=%d:\n%s", text, *editRounds, strings.Join(s.Log, "\n"))
				}
			})
			s.run()
		})
	}
}

func (s *editSession) run() {
	cp.Apply(s.t, emptyConfig, data{Namespace: s.namespace})
	s.t.Cleanup(func() { cp.CleanUp(s.t, s.object()) })
	s.Walk(s, *editRounds)
	s.end()
}

func (s *editSession) fail(why string) {
	s.t.Helper()
	s.t.Fatalf("%s\n%s", why, cp.Describe(context.Background(), s.object()))
}

func (s *editSession) object() Object {
	return Object{APIVersion: apiXR, Kind: "Edited", Namespace: s.namespace, Name: "site"}
}

// Pause the XR and AnsibleRuns now and then, or go on with them.
func (s *editSession) Pause(on bool) {
	if !on {
		for _, o := range s.paused {
			s.pause(o, nil)
		}
		if slices.Contains(s.paused, s.object()) {
			cp.WaitResumed(s.t, s.object())
		}
		s.paused = nil
		return
	}
	if s.Chance(6) {
		s.paused = append(s.paused, s.object())
	}
	if runs := s.runs(); len(runs) > 0 && s.Chance(6) {
		s.paused = append(s.paused, ObjectOf(&runs[s.Pick(len(runs))]))
	}
	for _, o := range s.paused {
		s.Notef("pause %s", o)
		s.pause(o, true)
	}
}

// pause an object, or go on with it, unless it is gone.
func (s *editSession) pause(o Object, paused any) {
	s.t.Helper()
	if paused != nil {
		paused = fmt.Sprint(paused)
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"crossplane.io/paused": paused}}})
	needs.OK(s.t, err)
	needs.OK(s.t, client.IgnoreNotFound(cp.Kube.Patch(s.t.Context(), o.Unstructured(), client.RawPatch("application/merge-patch+json", b))))
}

// Delete an AnsibleRun by hand.
func (s *editSession) Delete(called string) {
	for _, u := range s.runs() {
		if o := edits.RunOf(u.Object); o.Called == called {
			s.Deleted(o)
			// A Usage that is not needed any more may still be there.
			Eventually(s.t, "the AnsibleRun to be deleted", func() bool {
				return client.IgnoreNotFound(cp.Kube.Delete(s.t.Context(), ObjectOf(&u).Unstructured())) == nil
			})
			return
		}
	}
	s.fail("there is no " + called)
}

// runs are the AnsibleRuns that there are.
func (s *editSession) runs() []unstructured.Unstructured {
	s.t.Helper()
	return cp.List(s.t, apiNamespaced, "AnsibleRun", s.namespace)
}

// Settle waits until the AnsibleRuns are as they are to be, and judges the plays.
func (s *editSession) Settle() (ready bool, message string) {
	var why string
	err := Await(s.t.Context(), func() bool {
		for _, l := range s.ledger() {
			s.Record(l)
		}
		ready, message, why = s.differs()
		return why == ""
	})
	if err != nil {
		s.fail(err.Error() + ": " + why)
	}
	return ready, message
}

// differs says how what there is differs from what there is to be; "" if it does not.
func (s *editSession) differs() (ready bool, message, why string) {
	xr := cp.Get(s.t, s.object())
	if Value(xr, "status.composition") != int64(s.composition) || Value(xr, "status.xr") != int64(s.xr) {
		return false, "", fmt.Sprintf("the XR is not composed with Composition %d and XR %d: status is %v", s.composition, s.xr, Value(xr, "status"))
	}

	var runs []edits.Run
	for _, u := range s.runs() {
		o := edits.RunOf(u.Object)
		if u.GetDeletionTimestamp() != nil {
			return false, "", o.Called + " is being deleted"
		}
		for _, c := range []string{"Ready", "Synced"} {
			if !Condition(c, "True").Met(&u) {
				return false, "", o.Called + " is not " + c
			}
		}
		runs = append(runs, o)
	}
	condition := ConditionOf(xr, "AnsibleRunsReady")
	ready = ConditionOf(xr, "Ready")["status"] == "True" && condition["status"] == "True"
	message, _ = condition["message"].(string)
	return ready, message, s.Reached(runs, ready, message, ready)
}

// ledger returns the lines that are new.
func (s *editSession) ledger() []edits.Entry {
	s.t.Helper()
	f, err := os.Open(filepath.Join(s.Directory, "ledger"))
	if os.IsNotExist(err) {
		return nil
	}
	needs.OK(s.t, err)
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
func (s *editSession) end() {
	s.t.Helper()
	s.Notef("delete the XR")
	runs := s.runs()
	cp.Delete(s.t, s.object())
	for _, u := range runs {
		cp.WaitGone(s.t, ObjectOf(&u))
	}
	cp.WaitGone(s.t, s.object())
	s.Ended(s.ledger())
}

// Apply the Composition, the XR, or both, as they are now.
func (s *editSession) Apply(composition, xr bool) {
	s.t.Helper()
	name := "edited-" + s.namespace
	if xr {
		s.xr++
		spec := s.Spec(s.xr)
		spec["crossplane"] = map[string]any{"compositionRef": map[string]any{"name": name}}
		s.send(map[string]any{
			"apiVersion": apiXR, "kind": "Edited", "spec": spec,
			"metadata": map[string]any{"name": "site", "namespace": s.namespace, "annotations": map[string]any{"ansible.fn.crossplane.io/allow-removal": s.Allowed()}},
		})
	}
	if composition {
		s.composition++
		s.send(map[string]any{
			"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"compositeTypeRef": map[string]any{"apiVersion": apiXR, "kind": "Edited"}, "mode": "Pipeline",
				"pipeline": []any{map[string]any{"step": "run-ansible", "functionRef": map[string]any{"name": "function-ansible"}, "input": s.Input(s.composition)}},
			},
		})
		// Core may give two revisions the same number, and alternate between them, when it makes
		// one before it has seen the other.
		Eventually(s.t, "the revision of the Composition", func() bool {
			return slices.ContainsFunc(cp.List(s.t, "apiextensions.crossplane.io/v1", "CompositionRevision", ""), func(u unstructured.Unstructured) bool {
				return u.GetLabels()["crossplane.io/composition-name"] == name && Value(&u, "spec.revision") == int64(s.composition)
			})
		})
	}
}

func (s *editSession) send(o map[string]any) {
	s.t.Helper()
	b, err := json.Marshal(o)
	needs.OK(s.t, err)
	u := &unstructured.Unstructured{}
	needs.OK(s.t, u.UnmarshalJSON(b))
	if err := cp.ServerApply(s.t.Context(), u); err != nil {
		s.t.Fatalf("cannot apply %s: %s\n%s", u.GetName(), err, b)
	}
}
