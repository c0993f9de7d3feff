package galaxy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Credentials that are used for installing content, whatever else says so.
const (
	gitCredentials = ".git-credentials"
	ansibleConfig  = "ansible.cfg"
	netrc          = ".netrc"
)

// A Request says what ansible-galaxy is to install, and all that it is given for that.
type Request struct {
	// Requirements to install.
	Requirements requirements.File
	// Credentials that ansible-galaxy and git use.
	Credentials []inputs.File
	// Env that the configuration sets.
	Env map[string]string
	// Grant is what the configuration allows beyond the workspace.
	Grant sandbox.Grant
	// Verification of what is installed; nil for none.
	Verification *common.Verification
	// Repeated is true when what the requirements leave open was replaced by what
	// they resolved to before.
	Repeated bool
	// Redact takes secrets out of what is reported.
	Redact func(string) string
}

// maxError is the length of the longest error of a request, in bytes.
const maxError = 4 << 10

// NewRequest returns the request for the content that the inputs need. The
// error names what is wrong in the configuration's requirements, or which role
// contradicts them.
func NewRequest(in inputs.Inputs) (Request, error) {
	// Few need it, and it takes time to make.
	redactor := sync.OnceValue(func() redact.Redactor { return redact.New(in.InstallSecrets()...) })
	r := Request{
		Env: in.Env, Grant: in.Grant, Verification: in.Verification,
		Redact: func(s string) string { return redactor().String(s) },
	}

	required, err := requirements.Parse(in.Requirements)
	if err != nil {
		return Request{}, r.Reported(errors.Wrapf(err, "%s: spec.requirements", in.Config))
	}

	merged, err := required.Merge(in.Roles, onPath(in.Env))
	if err != nil {
		return Request{}, r.Reported(err)
	}

	clean, passwords, err := merged.WithoutPasswords()
	if err != nil {
		return Request{}, r.Reported(errors.Wrapf(err, "%s: spec.requirements", in.Config))
	}

	r.Requirements = clean
	r.Credentials = withPasswords(relevant(in, clean), passwords)

	return r, nil
}

// Reported is an error of the request as it may be shown. What it quotes may have a
// password in it, and be as long as an object.
func (r Request) Reported(err error) error {
	return errors.New(clip.Text(r.Redact(err.Error()), maxError))
}

// maxPath is how many directories of a path are looked into.
const maxPath = 100

// onPath tells whether a role is in a directory that the configuration brings:
// a role that was put into the provider's image is not installed again.
func onPath(env map[string]string) func(role string) bool {
	dirs := filepath.SplitList(env["ANSIBLE_ROLES_PATH"] + string(filepath.ListSeparator) + env["ANSIBLE_ROLE_PATH"])
	dirs = dirs[:min(len(dirs), maxPath)]

	return func(role string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			if !filepath.IsAbs(dir) {
				return false
			}

			info, err := os.Stat(filepath.Join(dir, role))

			return err == nil && info.IsDir()
		})
	}
}

// relevant credentials: those that ansible-galaxy and git know by their names,
// those that a variable for them names, those whose name is anywhere in the
// ansible.cfg, and those for ssh when git is to use it. ansible-galaxy gets no others,
// so that a change of those installs nothing.
func relevant(in inputs.Inputs, required requirements.File) []inputs.File {
	names := []string{gitCredentials, ansibleConfig, netrc}
	if in.Verification != nil {
		names = append(names, in.Verification.Keyring)
	}

	for _, name := range fileVariables() {
		names = append(names, strings.TrimPrefix(in.Env[name], "./"))
	}

	var relevant []inputs.File

	cfg, _ := inputs.Find(in.Credentials, ansibleConfig)
	keys := sshKeys(in.Env, in.Credentials)

	for _, f := range in.Credentials {
		isKey := slices.Contains(keys, f.Name)
		given := bytes.Contains(cfg.Data, []byte(f.Name))

		if isKey || f.Name == knownHosts {
			given = required.OverSSH()
		}

		if !given && !slices.Contains(names, f.Name) {
			continue
		}

		// ssh reads no key whose last line does not end.
		if isKey && !bytes.HasSuffix(f.Data, []byte("\n")) {
			f.Data = append(slices.Clone(f.Data), '\n')
		}

		relevant = append(relevant, f)
	}

	return relevant
}

// withPasswords adds lines to the credentials of git.
func withPasswords(files []inputs.File, lines []string) []inputs.File {
	if len(lines) == 0 {
		return files
	}

	text := []byte(strings.Join(lines, "\n") + "\n")
	files = slices.Clone(files)

	for i, f := range files {
		if f.Name == gitCredentials {
			files[i].Data = slices.Concat(text, f.Data)

			return files
		}
	}

	return append(files, inputs.File{Name: gitCredentials, Data: text})
}
