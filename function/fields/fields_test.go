package fields

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// namesOf returns the names of the JSON fields of a struct, sorted.
func namesOf(typ reflect.Type) []string {
	var names []string

	for _, f := range reflect.VisibleFields(typ) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}

	slices.Sort(names)

	return names
}

// TestTable compares the rows with the fields of v1alpha1.Run.
func TestTable(t *testing.T) {
	if diff := cmp.Diff(namesOf(reflect.TypeFor[v1alpha1.Run]()), manifest.SortedKeys(table)); diff != "" {
		t.Errorf("rows of the table: -fields of a run, +rows:\n%s", diff)
	}

	shared := Names(func(f Field) bool { return !f.Own })
	if diff := cmp.Diff(namesOf(reflect.TypeFor[v1alpha1.RunTemplate]()), shared); diff != "" {
		t.Errorf("rows that are not a run's own: -fields of defaults, +rows:\n%s", diff)
	}

	for name, f := range table {
		if f.Kind == 0 || f.Action == "" {
			t.Errorf("%s: a row needs a Kind and an Action", name)
		}

		if f.Kind == Setting && f.Part == Elsewhere {
			t.Errorf("%s: a setting needs a Part", name)
		}
	}
}

// TestForProvider checks that each field with the name of a parameter of AnsibleRuns becomes that parameter, but for
// vars, which become vars and unsafeVars.
func TestForProvider(t *testing.T) {
	parameters := namesOf(reflect.TypeFor[common.AnsibleRunParameters]())
	want := slices.DeleteFunc(manifest.SortedKeys(table), func(name string) bool {
		return name == "vars" || !slices.Contains(parameters, name)
	})
	got := Names(func(f Field) bool { return f.Part == ForProvider })

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields that are parameters: -want, +got:\n%s", diff)
	}

	for _, name := range ansiblerun.ContentFields {
		if f := Of(name); f.Kind != Literal && f.Kind != Referring || f.Action != RunAgain {
			t.Errorf("%s: a field of content must be Literal or Referring, and RunAgain", name)
		}
	}
}
