package scaffold

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	syaml "sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// files has the texts of files in a directory, by their relative paths.
type files map[string]string

// filesIn reads the files in a directory with paths that match a regular expression. It skips entries that cannot be
// read and are not regular files, such as broken symbolic links.
func filesIn(dir, paths string) (files, error) {
	all, root, match := files{}, os.DirFS(dir), regexp.MustCompile(paths)

	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, _ error) error {
		if !match.MatchString(name) {
			return nil
		}

		text, err := fs.ReadFile(root, name)
		if err == nil {
			all[name] = string(text)
		} else if d.Type().IsRegular() {
			return err
		}

		return nil
	})

	return all, errors.Wrapf(err, "cannot read %s", dir)
}

// decode decodes a YAML file, if it exists.
func (f files) decode(name string, into any) error {
	// The limit for the expansion of aliases holds for each call of Decode. UnmarshalYAML calls it for each
	// specification, so the file is first decoded as a whole.
	err := yaml.Unmarshal([]byte(f[name]), new(any))
	if err == nil {
		err = yaml.Unmarshal([]byte(f[name]), into)
	}

	return errors.Wrapf(inYAML(err), "cannot read %s", name)
}

// documents returns the documents in a YAML file as JSON; none if the file does not exist.
func (f files) documents(name string) ([]any, error) {
	var all []any

	for _, text := range regexp.MustCompile(`(?m)^---(\s|$)`).Split(f[name], -1) {
		var v any
		if err := syaml.Unmarshal([]byte(text), &v); err != nil {
			return nil, errors.Wrapf(err, "cannot read %s", name)
		}

		if v != nil {
			all = append(all, v)
		}
	}

	return all, nil
}

// has is true for a directory with files.
func (f files) has(dir string) bool {
	return slices.ContainsFunc(manifest.SortedKeys(f),
		func(name string) bool { return strings.HasPrefix(name, dir+"/") })
}

// mentions returns the first file that contains a word; "" for none.
func (f files) mentions(text string) string {
	word := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(text) + `(\W|$)`)

	for _, name := range manifest.SortedKeys(f) {
		if word.MatchString(f[name]) {
			return name
		}
	}

	return ""
}
