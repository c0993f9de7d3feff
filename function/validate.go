package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

// A validateCommand checks Compositions and Operations without a cluster.
type validateCommand struct {
	Files []string `arg:"" help:"Files of Compositions, of the XRDs that they are for, and of Operations, or directories of them; - is the standard input."`

	Against       []string `help:"Files or directories with the Compositions as they are now: say what each change means to the runs of XRs." placeholder:"FILE"`
	FailOnRemoval bool     `help:"With --against, exit with status 3 when a run is removed, or may be."`
}

// removals is the number of runs that a change may remove. It is the error of --fail-on-removal.
type removals int

// Error returns the message.
func (r removals) Error() string { return "this removes, or may remove, " + plural(int(r), "run") }

// ExitCode returns the exit status of the process, for kong.
func (removals) ExitCode() int { return exitRemoval }

// Help returns the description of the command.
func (validateCommand) Help() string {
	return `
Every input of function-ansible in the Compositions is checked as far as that is possible without an XR. With
the XRD, in the same or another file, expressions are also checked against its schema. Inputs in Operations,
CronOperations and WatchOperations are checked for what an Operation cannot have.

Of a directory all files are read that end in .yaml or .yml, also in directories in it, but for hidden ones.

Each mistake is a line: FILE:LINE: FIELD: MESSAGE. A message that begins with warning: is not a mistake. The
exit status is 1 when there are mistakes or nothing that could be checked, and 2 when the command line is wrong.

With --against there is a line for each run that does not stay as it is: COMPOSITION: ACTION RUN (FIELDS). What
is computed is compared as it is written. The exit status is 0 whatever changes; with --fail-on-removal it is 3
when a run is removed, or may be.
`
}

// Validate checks that the files exist. It does not resolve their names, which are part of the output.
func (c validateCommand) Validate() error {
	if c.FailOnRemoval && len(c.Against) == 0 {
		return errors.New("--fail-on-removal needs --against")
	}

	for _, name := range slices.Concat(c.Files, c.Against) {
		if name == "-" {
			continue
		}

		if _, err := os.Stat(name); err != nil {
			return errors.Wrap(err, "cannot find the file")
		}
	}

	return nil
}

// Run prints the warnings and mistakes. The error has the number of mistakes.
func (c validateCommand) Run(in io.Reader, out io.Writer) error {
	files, err := filesOf(c.Files, in)
	if err != nil {
		return err
	}

	result := validate.Files(files...)

	for _, m := range slices.Concat(result.Warnings, result.Mistakes) {
		_, _ = fmt.Fprintln(out, m)
	}

	switch {
	case len(result.Mistakes) > 0:
		return errors.Errorf("found %s", plural(len(result.Mistakes), "mistake"))
	case result.Inputs == 0:
		return errors.New("there is no input of function-ansible in these files: it checks Compositions and Operations; " +
			"for an AnsibleRun or a configuration use kubectl apply --dry-run=server")
	}

	_, _ = fmt.Fprintf(out, "No mistakes in %s of function-ansible.\n", plural(result.Inputs, "input"))

	return c.compare(files, in, out)
}

// compare prints the changes against the files of --against, if there are any.
func (c validateCommand) compare(files []validate.File, in io.Reader, out io.Writer) error {
	if len(c.Against) == 0 {
		return nil
	}

	before, err := filesOf(c.Against, in)
	if err != nil {
		return err
	}

	changes, err := validate.Against(before, files)
	if err != nil {
		return err
	}

	removed := removals(0)

	for _, change := range changes {
		_, _ = fmt.Fprintln(out, change)

		if change.Removes() {
			removed++
		}
	}

	if len(changes) == 0 {
		_, _ = fmt.Fprintln(out, "No run changes.")
	}

	if c.FailOnRemoval && removed > 0 {
		return removed
	}

	return nil
}

// filesOf reads the files of arguments: files, directories, and - for the standard input. It reads each file once.
func filesOf(args []string, in io.Reader) ([]validate.File, error) {
	var files []validate.File

	read := func(name string, mixed bool) error {
		if slices.ContainsFunc(files, func(f validate.File) bool { return f.Name == name }) {
			return nil
		}

		content, err := contentOf(name, in)
		files = append(files, validate.File{Name: name, Content: content, Mixed: mixed})

		return err
	}

	for _, arg := range args {
		if info, err := os.Stat(arg); arg == "-" || err != nil || !info.IsDir() {
			if err := read(arg, false); err != nil {
				return nil, err
			}

			continue
		}

		// Unlike filepath.WalkDir, this follows a symbolic link to the directory.
		err := fs.WalkDir(os.DirFS(arg), ".", func(path string, entry fs.DirEntry, err error) error {
			hidden := path != "." && strings.HasPrefix(filepath.Base(path), ".")

			switch {
			case err != nil:
				return err
			case hidden && entry.IsDir():
				return fs.SkipDir
			case hidden || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)):
				return nil
			}

			return read(filepath.Join(arg, path), true)
		})
		if err != nil {
			return nil, errors.Wrap(err, "cannot read the directory")
		}
	}

	return files, nil
}

// contentOf returns the content of a file, or of the standard input for -.
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
