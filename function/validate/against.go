package validate

import (
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Against returns what it would mean to the runs of XRs to replace the Compositions
// of some files by those of others. One that is only in either says nothing of
// any XR. The error is a file that cannot be read.
func Against(before, after []File) ([]Change, error) {
	old, err := pipelines(before)
	if err != nil {
		return nil, err
	}

	now, err := pipelines(after)
	if err != nil {
		return nil, err
	}

	var changes []Change

	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := old[name]; !ok {
			continue
		}

		for _, c := range changesOf(old[name], now[name]) {
			c.Composition = name
			changes = append(changes, c)
		}
	}

	return changes, nil
}

// pipelines are the inputs of Compositions by their names.
func pipelines(files []File) (map[string][]map[string]any, error) {
	all := map[string][]map[string]any{}

	for _, f := range files {
		documents, mistakes := read(f)
		if len(mistakes) > 0 {
			return nil, errors.New(mistakes[0].String())
		}

		for _, d := range documents {
			switch {
			case d.is(groupCrossplane, "Composition"):
				for _, in := range inputsOf(d.object, "spec") {
					all[manifest.Name(d.object)] = append(all[manifest.Name(d.object)], in.input)
				}
			case strings.HasPrefix(manifest.Text(d.object, "apiVersion"), v1alpha1.Group+"/"):
				all[""] = append(all[""], d.object)
			}
		}
	}

	return all, nil
}
