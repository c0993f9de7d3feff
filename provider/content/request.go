package content

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
)

// A Request for the content set that a run needs.
type Request struct {
	galaxy.Request

	// Tenant that the set is installed for: tenants take turns in installing.
	Tenant string
	// Timeout of the installation, from when it begins; 0 means none.
	Timeout time.Duration
	// Asked is true when somebody has asked for it: that it has just failed does not
	// keep it from being tried.
	Asked bool
	// Known is what it has resolved to before, as far as who requests it knows.
	Known Set
}

// NewRequest returns the request for the content that the inputs need. The
// error names what is wrong in the configuration's requirements, or which role
// contradicts them.
func NewRequest(in inputs.Inputs) (Request, error) {
	r, err := galaxy.NewRequest(in)
	if err != nil {
		return Request{}, err
	}

	// Nothing is installed then that could be verified.
	if r.Requirements.Empty() {
		if err := (manifest.Manifest{}).Verify(in.Verification); err != nil {
			return Request{}, r.Reported(errors.Wrap(err, in.Config))
		}
	}

	return Request{Request: r}, nil
}

// Digest of the set that is requested, an HMAC-SHA256 cut to 128 bits in hexadecimal;
// empty when nothing is required. It is keyed since credentials are part of it and it
// is shown in the status.
func (s *Store) Digest(req Request) string {
	if req.Requirements.Empty() {
		return ""
	}

	return digestOf(s.config.Key, s.config.Tools, s.config.Installer.Recipe(req.Request))
}

// digestOf a recipe for a version of the tools.
func digestOf(key []byte, tools string, r galaxy.Recipe) string {
	// JSON would replace bytes that are no text.
	env := make([][]byte, len(r.Env))
	for i, kv := range r.Env {
		env[i] = []byte(kv)
	}

	return sign(key, "content", struct {
		Schema int           `json:"schema"`
		Tools  string        `json:"tools"`
		Env    [][]byte      `json:"env"`
		Recipe galaxy.Recipe `json:"recipe"`
	}{Schema: manifest.Schema, Tools: tools, Env: env, Recipe: r})
}

// wanted identifies what a user says of a request, whichever provider installs it: as
// long as that stays the same, so does what it resolves to. A credential that rotates
// is the same.
func (r Request) wanted(key []byte) string {
	files := make([]inputs.File, len(r.Credentials))

	for i, f := range r.Credentials {
		files[i] = inputs.File{Name: f.Name, Rotates: f.Rotates}
		if f.Rotates == "" {
			files[i].Data = f.Data
		}
	}

	return sign(key, "wanted", struct {
		Requirements requirements.File
		Env          map[string]string
		Files        []inputs.File
	}{r.Requirements, r.Env, files})
}
