package content

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
)

// A Request for the content set that a run needs.
type Request struct {
	galaxy.Request

	// Tenant that the set is installed for: tenants take turns in installing.
	Tenant string
	// Timeout of the installation, from when it begins; 0 means none.
	Timeout time.Duration
	// Asked is true when a user has asked for the run: the installation is tried also when
	// it has failed just before.
	Asked bool
	// Known is what the request has resolved to before, by the status of its object.
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

	if in.Execution.Content == common.ContentImage && !r.Requirements.Empty() {
		return Request{}, errors.Wrap(
			errors.New(
				"roles, requirements and projects are not installed where spec.execution.content is Image: leave out project, "+
					"and src and version of roles"), in.Config)
	}

	// Verification cannot be satisfied when nothing is installed.
	if r.Requirements.Empty() {
		if err := installed.VerifyNothing(in.Verification); err != nil {
			return Request{}, r.Reported(errors.Wrap(err, in.Config))
		}
	}

	return Request{Request: r}, nil
}

// MayNeed is true for inputs that need content to be installed, on some machines at least: an image
// may have a role that is not there on another one. It is false for inputs with a mistake.
func MayNeed(in inputs.Inputs) bool {
	required, err := requirements.Parse(in.Requirements)
	if err == nil {
		required, err = required.Merge(in.RequiredRoles(), func(string) bool { return false })
	}

	needs := in.Parameters.Project != nil || !required.Empty()

	return err == nil && needs && in.Execution.Content != common.ContentImage
}

// Digest of the set that is requested, an HMAC-SHA256 cut to 128 bits in hexadecimal;
// empty when nothing is required. It is keyed since credentials are part of it and it
// is shown in the status.
func (s *Store) Digest(req Request) string {
	if req.Requirements.Empty() {
		return ""
	}

	return sign(s.config.Key, "content", struct {
		Schema int
		Tools  string
		Given  any
	}{installed.Schema, s.config.Tools, s.config.Installer.Given(req.Request)})
}

// wanted identifies the part of a request that users write. As long as it stays the same, the
// request resolves to the same versions until it is due, also after an upgrade of the provider.
// A credential that rotates counts as the same.
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
