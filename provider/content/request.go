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

// A Request describes the content set that a run needs.
type Request struct {
	galaxy.Request

	// Tenant of the run. Tenants take turns in installations.
	Tenant string
	// Timeout of the installation, from its beginning; 0 means none.
	Timeout time.Duration
	// Asked identifies the request of a user for the run; empty for other runs. With it, an installation is tried again
	// at once after a failure.
	Asked string
}

// NewRequest returns the request for the content that the inputs need. The error is about the requirements of the
// configuration, or names a role that contradicts them.
func NewRequest(in inputs.Inputs) (Request, error) {
	r, err := galaxy.NewRequest(in)
	if err != nil {
		return Request{}, err
	}

	if r.Requirements.Empty() {
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

// MayNeed is true for inputs that need an installation of content on some machine: a role that one image contains may
// be missing in another one. It is false for invalid inputs.
func MayNeed(in inputs.Inputs) bool {
	in.Env = nil // Without search paths, no role is found on this machine.
	r, err := NewRequest(in)

	return err == nil && !r.Requirements.Empty()
}

// digest returns the digest of a request, an HMAC-SHA256 cut to 128 bits, in hexadecimal; empty if the request requires
// no content. It has a key, since it covers credentials and is shown in the status.
func (s *Store) digest(req Request) string {
	if req.Requirements.Empty() {
		return ""
	}

	text, _ := json.Marshal(struct { //nolint:errchkjson,musttag // The text is only hashed, and JSON can represent all values.
		Schema int
		Tools  string
		Given  any
	}{installed.Schema, s.config.Tools, s.config.Installer.Given(req.Request)})

	return hex.EncodeToString(mac.Sum(s.config.Key, "content", text)[:16])
}

// lasting returns the digest of a request that does not change when credentials rotate: it has their sources instead of
// their values.
func (s *Store) lasting(req Request) string {
	req.Credentials = slices.Clone(req.Credentials)
	for i := range req.Credentials {
		if source := req.Credentials[i].Rotates; source != "" {
			req.Credentials[i].Data = []byte(source)
		}
	}

	return s.digest(req)
}
