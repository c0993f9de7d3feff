package main

import (
	"fmt"
	"io"
	"os"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

// A validateCommand checks Compositions and Operations.
type validateCommand struct {
	Files []string `arg:"" help:"Files of Compositions, of the XRDs that they are for, and of Operations; - is the standard input."`
}

// Help returns what the command checks.
func (validateCommand) Help() string {
	return `
Every input of function-ansible in the Compositions is checked as far as that is possible without an XR. With
the XRD, in the same or another file, expressions are also checked against its schema. Inputs in Operations,
CronOperations and WatchOperations are checked for what an Operation cannot have.

Each mistake is a line: FILE:LINE: FIELD: MESSAGE. The exit status is 1 when there are mistakes or nothing that
could be checked, and 2 when the command line is wrong.
`
}

// Validate the command line. Files keep the names that they were given, for they
// are part of the output.
func (c validateCommand) Validate() error {
	for _, name := range c.Files {
		if name == "-" {
			continue
		}

		if _, err := os.Stat(name); err != nil {
			return errors.Wrap(err, "cannot find the file")
		}
	}

	return nil
}

// Run prints the mistakes. The error says how many there are.
func (c validateCommand) Run(in io.Reader, out io.Writer) error {
	files := make([]validate.File, len(c.Files))

	for i, name := range c.Files {
		content, err := contentOf(name, in)
		if err != nil {
			return err
		}

		files[i] = validate.File{Name: name, Content: content}
	}

	result, err := validate.Files(files...)
	if err != nil {
		return err
	}

	for _, note := range result.Notes {
		_, _ = fmt.Fprintln(out, note)
	}

	for _, m := range result.Mistakes {
		_, _ = fmt.Fprintln(out, m)
	}

	switch {
	case len(result.Mistakes) > 0:
		return errors.Errorf("found %s", plural(len(result.Mistakes), "mistake"))
	case result.Inputs == 0:
		return errors.New("there is no input of function-ansible in these files")
	}

	_, _ = fmt.Fprintf(out, "No mistakes in %s of function-ansible.\n", plural(result.Inputs, "input"))

	return nil
}

// contentOf a file, or of the standard input.
func contentOf(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		b, err := io.ReadAll(in)
		return b, errors.Wrap(err, "cannot read the standard input")
	}

	b, err := os.ReadFile(name)

	return b, errors.Wrap(err, "cannot read the file")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}

	return fmt.Sprintf("%d %ss", n, what)
}
