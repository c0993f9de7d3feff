package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/scaffold"
)

// A scaffoldCommand writes an XRD and a Composition for a role.
type scaffoldCommand struct {
	Path string `arg:"" help:"Directory of the role." optional:"" type:"existingdir"`

	Role         string `help:"Full name of the role: namespace.collection.role, or namespace.role."`
	Requirements string `help:"The requirements.yml that brings the role, unless its directory is given." short:"f" type:"existingfile"`
	EntryPoint   string `default:"main"                                                                   help:"Entry point of the role."`

	Group  string `default:"platform.example.org"                             help:"Group of the API."`
	Kind   string `help:"Kind of the XR; that of the role's name by default."`
	Plural string `help:"Plural of the kind."`
	Scope  string `default:"Namespaced"                                       enum:"Namespaced,Cluster"        help:"Scope of the XR: ${enum}."`
	Names  string `default:"CamelCase"                                        enum:"CamelCase,AsIs"            help:"How variables are called in the XR: ${enum}. The variables keep their names."`
	Output string `help:"Directory to write files to, an example of an XR among them." short:"o" type:"path"`
}

// Help returns what the command writes.
func (scaffoldCommand) Help() string {
	return `
The fields of the XR are the options in the argument specifications of the role, or guessed from its defaults if it
has none. What an XRD cannot say is told in comments of the Composition. With requirements there is a ProviderConfig,
too, that brings the role. Without --output the documents go to the standard output.
`
}

// Validate the command line.
func (c scaffoldCommand) Validate() error {
	if c.Path == "" && (c.Role == "" || c.Requirements == "") {
		return errors.New("give the directory of a role, or --role together with --requirements")
	}

	return nil
}

// Run writes the documents.
func (c scaffoldCommand) Run(out io.Writer) error {
	role, err := c.load(context.Background())
	if err != nil {
		return err
	}

	config := scaffold.Config{
		Group:   c.Group,
		Kind:    c.Kind,
		Plural:  c.Plural,
		Cluster: c.Scope == "Cluster",
		Names:   scaffold.Names(c.Names),
	}

	if c.Requirements != "" {
		b, err := os.ReadFile(c.Requirements)
		if err != nil {
			return errors.Wrap(err, "cannot read the requirements")
		}

		config.Requirements = string(b)
	}

	documents, err := scaffold.Write(role, config)
	if err != nil {
		return err
	}

	if c.Output != "" {
		return c.write(documents)
	}

	// The API server does not know the XR before it knows the XRD.
	for i, d := range documents[:len(documents)-1] {
		if i > 0 {
			_, _ = io.WriteString(out, "---\n")
		}

		if _, err := out.Write(d.Content); err != nil {
			return errors.Wrap(err, "cannot write to the standard output")
		}
	}

	return nil
}

// load the role.
func (c scaffoldCommand) load(ctx context.Context) (scaffold.Role, error) {
	if c.Path != "" {
		return scaffold.Load(c.Path, c.Role, c.EntryPoint)
	}

	dir, err := os.MkdirTemp("", "scaffold-")
	if err != nil {
		return scaffold.Role{}, errors.Wrap(err, "cannot make a directory")
	}
	defer os.RemoveAll(dir) //nolint:errcheck // It is in the directory for temporary files.

	path, err := scaffold.Install(ctx, c.Role, c.Requirements, dir)
	if err != nil {
		return scaffold.Role{}, err
	}

	return scaffold.Load(path, c.Role, c.EntryPoint)
}

// write files, but never over those that are there: somebody may have worked on
// them.
func (c scaffoldCommand) write(documents []scaffold.Document) error {
	if err := os.MkdirAll(c.Output, 0o750); err != nil {
		return errors.Wrap(err, "cannot make the directory")
	}

	for _, d := range documents {
		f, err := os.OpenFile(filepath.Join(c.Output, d.File), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
