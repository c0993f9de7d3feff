package executor

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// LacksAccess is true for an error that ends when a run is granted what it needs: rights for its Pod, or access to the
// API server.
func LacksAccess(err error) bool {
	return errors.As(err, new(*rights.Error)) || errors.As(err, new(*runner.AccessError))
}
