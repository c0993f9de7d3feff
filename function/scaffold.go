package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/scaffold"
	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

// A scaffoldCommand writes an XRD and a Composition for a role, or for each kind of an Ansible operator.
type scaffoldCommand struct {
	Path string `arg:"" help:"Directory of the role." optional:"" type:"existingdir"`

	Operator string   `help:"Directory of an operator of the Operator SDK, in place of a role."                        type:"existingdir"`
	Watches  []string `help:"The operator's watches, if they are not in its watches.yaml."                             type:"existingfile"`
	Source   string   `help:"The operator's git repository, as ansible-galaxy has it: URL,VERSION. Without it the operator is a collection on a Galaxy server."`

	Role             string `help:"Full name of the role: namespace.collection.role, or namespace.role."`
	RequirementsFile string `help:"The requirements.yml that brings the role, unless its directory is given." name:"requirements"             short:"f" type:"existingfile"`
	EntryPoint       string `default:"main"                                                                   help:"Entry point of the role."`

	scaffold.Config `embed:""`

	Output string `help:"Directory to write files to, an example of an XR among them." short:"o" type:"path"`
}

// Help returns the description of the command.
func (scaffoldCommand) Help() string {
	return `
The fields of the XR are the options in the argument specifications of the role, or guessed from its defaults if it
has none. What an XRD cannot say is told in comments of the Composition. With requirements there is a ProviderConfig,
too, that brings the role. Without --output the documents go to the standard output.

With --operator they are those of an Ansible operator's CustomResourceDefinitions, and what its watches.yaml says
becomes Compositions and ProviderConfigs, in a directory for each kind.
`
}

// Validate checks the combination of flags.
func (c scaffoldCommand) Validate() error {
	switch {
	case c.Operator != "" && (c.Path != "" || c.Role != "" || c.RequirementsFile != "" || c.Kind != "" || c.Plural != ""):
		return errors.New("--operator is in place of a role, and says itself what its kinds are called and what it requires")
	case c.Operator == "" && (len(c.Watches) > 0 || c.Source != ""):
		return errors.New("--watches and --source are of an --operator")
	case c.Operator != "":
		return nil
	}

	if c.Path == "" && (c.Role == "" || c.RequirementsFile == "") {
		return errors.New("give the directory of a role, or --role together with --requirements")
	}

	return nil
}

// Run writes the documents.
func (c scaffoldCommand) Run(out io.Writer) error {
	documents, err := c.documents()
	if err != nil {
		return err
	}

	if c.Output != "" {
		return c.write(documents)
	}

	documents = slices.DeleteFunc(documents, func(d validate.File) bool { return d.Name == scaffold.FileXR })
	for i, d := range documents {
		if i > 0 {
			_, _ = io.WriteString(out, "---\n")
		}

		if _, err := out.Write(d.Content); err != nil {
			return errors.Wrap(err, "cannot write to the standard output")
		}
	}

	return nil
}

// documents returns the documents for the role or the operator.
func (c scaffoldCommand) documents() ([]validate.File, error) {
	if c.Operator != "" {
		return scaffold.WriteOperator(c.Operator, c.Watches, c.Source)
	}

	role, err := c.load(context.Background())
	if err != nil {
		return nil, err
	}

	if c.RequirementsFile != "" {
		b, err := os.ReadFile(c.RequirementsFile)
		if err != nil {
			return nil, errors.Wrap(err, "cannot read the requirements")
		}

		c.Requirements = string(b)
	}

	return scaffold.Write(role, c.Config)
}

// load returns the role in the directory, or installs it with ansible-galaxy first.
func (c scaffoldCommand) load(ctx context.Context) (scaffold.Role, error) {
	if c.Path != "" {
		return scaffold.Load(c.Path, c.Role, c.EntryPoint)
	}

	dir, err := os.MkdirTemp("", "scaffold-")
	if err != nil {
		return scaffold.Role{}, errors.Wrap(err, "cannot make a directory")
	}
	defer os.RemoveAll(dir) //nolint:errcheck // The directory is temporary.

	path, err := scaffold.Install(ctx, c.Role, c.RequirementsFile, dir)
	if err != nil {
		return scaffold.Role{}, err
	}

	return scaffold.Load(path, c.Role, c.EntryPoint)
}

// write writes the documents to files. It does not overwrite a file, which may have been edited.
func (c scaffoldCommand) write(documents []validate.File) error {
	for _, d := range documents {
		name := filepath.Join(c.Output, filepath.FromSlash(d.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			return errors.Wrap(err, "cannot make the directory")
		}

		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return errors.Wrap(err, "cannot write the file")
		}

		_, err = f.Write(d.Content)
		if err = errors.Join(err, f.Close()); err != nil {
			return errors.Wrap(err, "cannot write the file")
		}
	}

	return nil
}
