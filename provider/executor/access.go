package executor

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// AccessAgain is when a run that lacks access is tried again. No watch tells when somebody has granted it.
const AccessAgain = 30 * time.Second

// LacksAccess is true for an error that ends when somebody grants what a run needs: rights for its Pod, or what it
// reaches the API server with.
func LacksAccess(err error) bool {
	return errors.As(err, new(*rights.Error)) || errors.As(err, new(*runner.AccessError))
}
