// Command generate ends what make generate does, at the root of the repository. It makes the references in the
// CustomResourceDefinitions of what is in a namespace local, and writes what is generated in docs: the pages of the
// API, from the definitions, and the pictures, from the texts beside them.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the generated files of the repository at root.
func run(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}

	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			return errors.Wrap(err, "cannot make a directory for generated documentation")
		}

		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return errors.Wrap(err, "cannot write generated documentation")
		}
	}

	return nil
}

// generate returns the generated files of the repository at root: their names below
// root, and their texts.
func generate(root string) (map[string]string, error) {
	crds, err := localDefinitions(root)
	if err != nil {
		return nil, err
	}

	files, err := reference(root, crds)
	if err != nil {
		return nil, err
	}

	maps.Copy(files, crds)

	for name, draw := range map[string]func(string) (string, error){"way": drawWay, "demo": drawTerminal} {
		text, err := os.ReadFile(filepath.Join(filepath.Clean(root), "docs", name+".txt"))
		if err != nil {
			return nil, errors.Wrap(err, "cannot read the text of a picture")
		}

		picture, err := draw(string(text))
		if err != nil {
			return nil, errors.Wrapf(err, "cannot draw docs/%s.txt", name)
		}

		files["docs/"+name+".svg"] = picture
	}

	return files, nil
}
