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
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Names of credentials that ansible-galaxy and git recognize.
const (
	gitCredentials = ".git-credentials"
	netrc          = ".netrc"
)

// A Request has the content for ansible-galaxy to install, and everything that it needs for that.
type Request struct {
	// Requirements to install.
	Requirements requirements.File
	// Credentials that ansible-galaxy and git use.
	Credentials []inputs.File
	// Env of the configuration.
	Env map[string]string
	// Grant is the access of the configuration beyond the workspace.
	Grant sandbox.Grant
	// Verification of the content; nil for none.
	Verification *common.Verification
	// Redact returns the start of a text with secrets masked, up to a limit of bytes.
	Redact func(text string, limit int) string
}

// maxError is the length of the longest error of a request, in bytes.
const maxError = 4 << 10

// NewRequest returns the request for the content that the inputs need. The error names the mistake in the
// configuration's requirements, or the role that contradicts them.
func NewRequest(in inputs.Inputs) (Request, error) {
	// Collecting the secrets takes time, and only errors need them.
	secrets := sync.OnceValue(in.InstallSecrets)
	r := Request{
		Env: in.Env, Grant: in.Grant, Verification: in.Verification,
		Redact: func(text string, limit int) string { return secrets().Clip(text, limit) },
	}

	required, err := requirements.Parse(in.Requirements)
	if err != nil {
		return Request{}, r.Reported(errors.Wrapf(err, "%s: spec.requirements", in.Config))
	}

	found := isOnPath(in.Env)
	if in.Execution.Content == common.ContentImage {
		found = func(string) bool { return true }
	}

	merged, err := required.Merge(in.RequiredRoles(), found)
	if err != nil {
		return Request{}, r.Reported(err)
	}

	if p := in.Parameters.Project; p != nil {
		merged.Project = &requirements.Project{Project: *p, Tree: in.Tree}
	}

	r.Requirements, r.Credentials = merged, relevantCredentials(in, merged)

	return r, nil
}

// Reported returns an error of the request with secrets masked, and with at most maxError bytes: it may quote a
// password or a long text.
func (r Request) Reported(err error) error {
	return errors.New(r.Redact(err.Error(), maxError))
}

// maxPath is how many directories of ANSIBLE_ROLES_PATH are searched.
const maxPath = 100

// isOnPath returns a function that is true for a role in a directory of the configuration's ANSIBLE_ROLES_PATH. Such a
// role, for example in the provider's image, is not installed.
func isOnPath(env map[string]string) func(role string) bool {
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

// relevantCredentials returns the credentials that ansible-galaxy gets: those that it and git recognize by name, those
// in a variable of fileVariables, those with a name that occurs in the ansible.cfg, and those for ssh when git uses it.
// A change of other credentials causes no new installation.
func relevantCredentials(in inputs.Inputs, required requirements.File) []inputs.File {
	names := []string{gitCredentials, inputs.AnsibleConfigFile, netrc}
	if in.Verification != nil {
		names = append(names, in.Verification.Keyring)
	}

	for _, name := range fileVariables() {
		names = append(names, strings.TrimPrefix(in.Env[name], "./"))
	}

	var relevant []inputs.File

	cfg, _ := inputs.Find(in.Credentials, inputs.AnsibleConfigFile)
	keys := sshKeys(in.Env, in.Credentials)

	for _, f := range in.Credentials {
		isKey := slices.Contains(keys, f.Name)
		given := bytes.Contains(cfg.Data, []byte(f.Name))

		if isKey || f.Name == inputs.KnownHostsFile {
			given = required.OverSSH()
		}

		if !given && !slices.Contains(names, f.Name) {
			continue
		}

		if isKey {
			f = f.WithLineEnd()
		}

		relevant = append(relevant, f)
	}

	return relevant
}
