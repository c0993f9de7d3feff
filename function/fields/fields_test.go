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

// namesOf the fields of a type, sorted.
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

// Each field of a run has its row, and there are no others.
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
			t.Errorf("%s: a row has a Kind and an Action", name)
		}

		if f.Kind == Setting && f.Part == Elsewhere {
			t.Errorf("%s: a setting has a Part", name)
		}
	}
}

// What a run has under the name of a parameter becomes that parameter, but for variables, which are evaluated.
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
			t.Errorf("%s: content is never computed freely, and runs again when it changes", name)
		}
	}
}
