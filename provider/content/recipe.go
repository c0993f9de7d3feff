package content

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// schema of sets. It changes when the digest of the same recipe does, or what is
// done with what the installer leaves: sets of another schema are not found.
const schema = 4

// anywhere stands for the directory of a workspace, which has another name each
// time. No variable and no argument can contain it.
const anywhere = "\x00"

// gpgOff is the variable that turns verification off.
const gpgOff = "ANSIBLE_GALAXY_DISABLE_GPG_VERIFY="

// A recipe is all that ansible-galaxy is given; nothing else reaches it. A pure
// function makes it, and the digest of a set is that of its recipe: what is given
// cannot be forgotten there.
type recipe struct {
	// Programs to run, one after the other.
	Programs []program `json:"programs"`
	// Env of each of them, and all of it.
	Env []string `json:"-"`
	// Files in the working directory, by their names.
	Files map[string][]byte `json:"files"`
	// Grant is what they may do beyond the workspace: who may not read a path may
	// not get what was installed from it either.
	Grant sandbox.Grant `json:"grant"`
	// Verification of what they have installed: who demands it may not get what was
	// not verified.
	Verification *common.Verification `json:"verification,omitempty"`
}

// A program of a recipe.
type program struct {
	// What it installs, for error messages.
	What string `json:"what"`
	// Argv has nothing in it that a user says, but how to verify.
	Argv []string `json:"argv"`
	// File of requirements, and the text in it.
	File string `json:"file"`
	Text []byte `json:"text"`
}

// recipe of a request for a workspace, with what passes of the provider's
// environment.
func (r Request) recipe(environ []string, l layout) (recipe, error) {
	c := recipe{
		Env:          environment(environ, r.Env, r.Credentials, l),
		Files:        map[string][]byte{},
		Grant:        r.Grant,
		Verification: r.Verification,
	}

	for _, f := range r.Credentials {
		c.Files[f.Name] = f.Data
	}

	if len(r.Requirements.Collections) > 0 {
		text, err := json.Marshal(requirements.File{Collections: r.Requirements.Collections})
		if err != nil {
			return c, errors.Wrap(err, "cannot encode the required collections")
		}

		file := l.path("collections.yml")
		argv := []string{"ansible-galaxy", "collection", "install", "-r", file, "-p", l.set.CollectionsPath()}
		if v := r.Verification; v != nil && v.Keyring != "" {
			argv = append(argv, "--keyring", filepath.Join(l.home, v.Keyring), "--required-valid-signature-count", v.Signatures)
			// Variables and an ansible.cfg do not turn it off.
			c.Env = append(slices.DeleteFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, gpgOff) }), gpgOff+"0")
		}

		c.Programs = append(c.Programs, program{What: collectionsDir, Argv: argv, File: file, Text: text})
	}

	if len(r.Requirements.Roles) > 0 {
		text, err := json.Marshal(requirements.File{Roles: r.Requirements.Roles})
		if err != nil {
			return c, errors.Wrap(err, "cannot encode the required roles")
		}

		file := l.path("roles.yml")
		argv := []string{"ansible-galaxy", "role", "install", "-r", file, "-p", l.set.RolesPath()}
		c.Programs = append(c.Programs, program{What: rolesDir, Argv: argv, File: file, Text: text})
	}

	return c, nil
}

// digest of the request, an HMAC-SHA256 cut to 128 bits in hexadecimal; empty
// when nothing is required. It is keyed since credentials are part of it and it
// is shown in the status.
func (r Request) digest(key []byte, tools string, environ []string) (string, error) {
	if r.Requirements.Empty() {
		return "", nil
	}

	c, err := r.recipe(environ, newLayout(anywhere))
	if err != nil {
		return "", err
	}

	return c.digest(key, tools), nil
}

// digest of the recipe for a version of the tools.
func (c recipe) digest(key []byte, tools string) string {
	return sign(key, "content", struct {
		Schema int    `json:"schema"`
		Tools  string `json:"tools"`
		// Env as it is: JSON would replace bytes that are no text.
		Env    [][]byte `json:"env"`
		Recipe recipe   `json:"recipe"`
	}{Schema: schema, Tools: tools, Env: bytesOf(c.Env), Recipe: c})
}

func bytesOf(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, s := range texts {
		all[i] = []byte(s)
	}

	return all
}
