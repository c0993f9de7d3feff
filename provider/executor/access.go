package executor

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// AccessAgain is when a run that lacks access is tried again. No watch tells when access is granted.
const AccessAgain = 30 * time.Second

// LacksAccess is true for an error that ends when a run is granted what it needs: rights for its Pod, or access to the
// API server.
func LacksAccess(err error) bool {
	return errors.As(err, new(*rights.Error)) || errors.As(err, new(*runner.AccessError))
}
