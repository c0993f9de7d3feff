package content

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/confine"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// Credentials that are used for installing content, whatever else says so.
const (
	gitCredentials = ".git-credentials"
	ansibleConfig  = "ansible.cfg"
	netrc          = ".netrc"
)

// A Request for the content set that a run needs.
type Request struct {
	// Requirements that the set is to meet.
	Requirements Requirements
	// Credentials that ansible-galaxy and git use.
	Credentials []inputs.File
	// Env that the configuration sets.
	Env map[string]string
	// Grant is what the configuration allows beyond the workspace.
	Grant confine.Grant
	// Redact takes secrets out of what is reported. Nil leaves all as it is.
	Redact func(string) string
}

// maxFailure is the length of the longest error of a request, in bytes.
const maxFailure = 4 << 10

// NewRequest returns the request for the content that the inputs need. The
// error names what is wrong in the configuration's requirements, or which role
// contradicts them.
func NewRequest(in inputs.Inputs) (Request, error) {
	r, err := newRequest(in)
	if err == nil {
		return r, nil
	}

	// What it quotes may have a password in it, and be as long as an object.
	text := redact.New(in.InstallSecrets()...).String(err.Error())
	if len(text) > maxFailure {
		text = strings.ToValidUTF8(text[:maxFailure], "") + "…"
	}

	return Request{}, errors.New(text)
}

func newRequest(in inputs.Inputs) (Request, error) {
	required, err := Parse(in.Requirements)
	if err != nil {
		return Request{}, errors.Wrapf(err, "%s: spec.requirements", in.Config)
	}

	merged, err := required.Merge(in.Roles, onPath(in.Env))
	if err != nil {
		return Request{}, err
	}

	clean, passwords, err := merged.withoutPasswords()
	if err != nil {
		return Request{}, errors.Wrapf(err, "%s: spec.requirements", in.Config)
	}

	return Request{
		Requirements: clean,
		Credentials:  withPasswords(relevant(in, clean), passwords),
		Env:          in.Env,
		Grant:        in.Grant,
	}, nil
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
// those that the settings for them mention, and those for ssh when git is to use
// it. Others are none of their business, and their changing is no reason to
// install anything.
func relevant(in inputs.Inputs, required Requirements) []inputs.File {
	names := []string{gitCredentials, ansibleConfig, netrc}
	keys := sshKeys(in.Env, in.Credentials)

	if required.overSSH() {
		names = append(append(names, knownHosts), keys...)
	}

	for _, name := range fileVariables() {
		names = append(names, strings.TrimPrefix(in.Env[name], "./"))
	}

	var (
		relevant []inputs.File
		settings []byte
	)

	for _, f := range in.Credentials {
		if f.Name == ansibleConfig {
			settings = galaxySections(f.Data)
		}
	}

	for _, f := range in.Credentials {
		if !slices.Contains(names, f.Name) && !mentions(settings, f.Name) {
			continue
		}

		// ssh reads no key whose last line does not end.
		if slices.Contains(keys, f.Name) && !bytes.HasSuffix(f.Data, []byte("\n")) {
			f.Data = append(slices.Clone(f.Data), '\n')
		}

		relevant = append(relevant, f)
	}

	return relevant
}

// mentions is true for settings with the name of a file in one of their values.
func mentions(settings []byte, name string) bool {
	return regexp.MustCompile(`(?m)[=:](?:.*[/\s])?` + regexp.QuoteMeta(name) + `\s*$`).Match(settings)
}

// galaxySections of an ansible.cfg: the lines that ansible-galaxy minds. The
// others are for plays.
func galaxySections(config []byte) []byte {
	var (
		lines [][]byte
		in    bool
	)

	for line := range bytes.Lines(config) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 || bytes.ContainsAny(line[:1], "#;") {
			continue
		}

		if line[0] == '[' {
			in = bytes.HasPrefix(line, []byte("[galaxy"))
		}

		if in {
			lines = append(lines, line)
		}
	}

	return bytes.Join(lines, []byte("\n"))
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

// isSetting is true for environment variables that say what is installed from
// where.
func isSetting(name string) bool {
	return strings.HasPrefix(name, "ANSIBLE_GALAXY_") || slices.Contains(fileVariables(), name) ||
		name == "SSL_CERT_DIR" || name == "GIT_SSL_CAPATH" || name == "GIT_SSL_NO_VERIFY"
}

// identity is what tells one content set from another.
type identity struct {
	Schema       int               `json:"schema"`
	Tools        string            `json:"tools"`
	Requirements Requirements      `json:"requirements"`
	Settings     map[string]string `json:"settings"`
	Credentials  map[string][]byte `json:"credentials"`
	// Paths are those that the configuration grants: who may not read them may
	// not get what was installed from them either.
	Paths []string `json:"paths,omitempty"`
}

// digest of the request, an HMAC-SHA256 cut to 128 bits in hexadecimal; empty
// when nothing is required. It is keyed since credentials are part of it and it
// is shown in the status.
func (r Request) digest(key []byte, tools string) (string, error) {
	if r.Requirements.Empty() {
		return "", nil
	}

	id := identity{
		Schema:       1,
		Tools:        tools,
		Requirements: r.Requirements,
		Settings:     map[string]string{},
		Credentials:  map[string][]byte{},
		Paths:        slices.Concat(r.Grant.Read, r.Grant.Write),
	}

	for k, v := range r.Env {
		if isSetting(k) {
			id.Settings[k] = v
		}
	}

	for _, f := range r.Credentials {
		id.Credentials[f.Name] = f.Data
		if f.Name == ansibleConfig {
			id.Credentials[f.Name] = galaxySections(f.Data)
		}
	}

	text, err := json.Marshal(id)
	if err != nil {
		return "", errors.Wrap(err, "cannot encode the requirements")
	}

	h := hmac.New(sha256.New, key)
	h.Write([]byte("content\x00"))
	h.Write(text)

	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func (r Request) redact(s string) string {
	if r.Redact == nil {
		return s
	}

	return r.Redact(s)
}
