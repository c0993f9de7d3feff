package galaxy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// anyWorkspace stands for a workspace: its directories have other names each time. No variable
// and no argument can contain this text.
var anyWorkspace = Workspace{Private: "\x00", Target: "\x00/set"} //nolint:gochecknoglobals // It is not changed.

// gpgOff is the variable that turns verification off.
const gpgOff = "ANSIBLE_GALAXY_DISABLE_GPG_VERIFY="

// A Recipe is all that ansible-galaxy and git are given; nothing else reaches it. The digest of a
// content set is computed from the recipe, so that it covers all that may make a difference.
type Recipe struct {
	// Project to fetch first; nil for none. What it requires is installed, too.
	Project *requirements.Project `json:"project,omitempty"`
	// Steps in their order.
	Steps []Step `json:"programs"`
	// Env is the whole environment of each step, as name=value.
	Env []string `json:"-"`
	// Files in the working directory, by their names.
	Files map[string][]byte `json:"files"`
	// Grant is what the steps may do beyond the workspace. It is part of the recipe, since
	// a configuration that may not read a path must not get what was installed from it.
	Grant sandbox.Grant `json:"grant"`
	// Verification of what the steps have installed. It is part of the recipe, since a
	// configuration that demands it must not get content that was not verified.
	Verification *common.Verification `json:"verification,omitempty"`
}

// A Step of a recipe is one program.
type Step struct {
	// What the step installs, for error messages.
	What string `json:"what"`
	// Argv of the program. Of what users write it has the options for verification only.
	Argv []string `json:"argv"`
	// File of requirements, and the text in it.
	File string `json:"file"`
	Text []byte `json:"text"`
}

// Recipe of a request, whatever the directory of its workspace. Credentials are in it.
func (i Installer) Recipe(req Request) Recipe { return req.recipe(i.Environ, anyWorkspace) }

// recipe of a request for a workspace, with what passes of the provider's
// environment.
func (r Request) recipe(environ []string, w Workspace) Recipe {
	c := Recipe{
		Project:      r.Requirements.Project,
		Env:          environment(environ, r.Env, r.Credentials, w),
		Files:        map[string][]byte{},
		Grant:        r.Grant,
		Verification: r.Verification,
	}

	for _, f := range r.Credentials {
		c.Files[f.Name] = f.Data
	}

	if collections := r.Requirements.Collections; len(collections) > 0 {
		s := step("collection", w, w.Collections(), requirements.File{Collections: collections})
		if v := r.Verification; v != nil && v.Keyring != "" {
			s.Argv = append(s.Argv, "--keyring", filepath.Join(w.Home(), v.Keyring), "--required-valid-signature-count",
				v.Signatures)
			// Neither a variable nor an ansible.cfg may turn verification off.
			c.Env = append(slices.DeleteFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, gpgOff) }), gpgOff+"0")
		}

		c.Steps = append(c.Steps, s)
	}

	if roles := r.Requirements.Roles; len(roles) > 0 {
		c.Steps = append(c.Steps, step("role", w, w.Roles(), requirements.File{Roles: roles}))
	}

	return c
}

// step that installs all that is required of one kind into a directory.
func step(kind string, w Workspace, dir string, required requirements.File) Step {
	text, _ := json.Marshal(required) //nolint:errchkjson // It has texts only.
	file := w.path(kind + "s.yml")

	return Step{
		What: kind + "s", Argv: []string{"ansible-galaxy", kind, "install", "-r", file, "-p", dir}, File: file,
		Text: text,
	}
}
