package content

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
)

// A Request for the content set that a run needs.
type Request struct {
	galaxy.Request

	// Tenant that the set is installed for: tenants take turns in installing.
	Tenant string
	// Timeout of the installation, from when it begins; 0 means none.
	Timeout time.Duration
	// Asked is what a user has asked for the run with: the installation is tried also when it
	// has failed just before. It is empty for other runs.
	Asked string
}

// NewRequest returns the request for the content that the inputs need. The
// error names what is wrong in the configuration's requirements, or which role
// contradicts them.
func NewRequest(in inputs.Inputs) (Request, error) {
	r, err := galaxy.NewRequest(in)
	if err != nil {
		return Request{}, err
	}

	if r.Requirements.Empty() { // Verification cannot be satisfied when nothing is installed.
		err = installed.VerifyNothing(in.Verification)
	} else if in.Execution.Content == common.ContentImage {
		err = errors.New("roles, requirements and projects are not installed where spec.execution.content is Image: " +
			"leave out project, and src and version of roles")
	}

	if err != nil {
		return Request{}, r.Reported(errors.Wrap(err, in.Config))
	}

	return Request{Request: r}, nil
}

// MayNeed is true for inputs that need content to be installed, on some machines at least: an image
// may have a role that is not there on another one. It is false for inputs with a mistake.
func MayNeed(in inputs.Inputs) bool {
	in.Env = nil // Nothing is on a path then.
	r, err := NewRequest(in)

	return err == nil && !r.Requirements.Empty()
}

// digest of the set that is requested, an HMAC-SHA256 cut to 128 bits in hexadecimal;
// empty when nothing is required. It is keyed since credentials are part of it and it
// is shown in the status.
func (s *Store) digest(req Request) string {
	if req.Requirements.Empty() {
		return ""
	}

	text, _ := json.Marshal(struct { //nolint:errchkjson,musttag // It is hashed, and nothing in it cannot be encoded.
		Schema int
		Tools  string
		Given  any
	}{installed.Schema, s.config.Tools, s.config.Installer.Given(req.Request)})

	return hex.EncodeToString(mac.Sum(s.config.Key, "content", text)[:16])
}

// lasting is the digest of a request with the sources of credentials that rotate in place of their values.
func (s *Store) lasting(req Request) string {
	req.Credentials = slices.Clone(req.Credentials)
	for i := range req.Credentials {
		if source := req.Credentials[i].Rotates; source != "" {
			req.Credentials[i].Data = []byte(source)
		}
	}

	return s.digest(req)
}
