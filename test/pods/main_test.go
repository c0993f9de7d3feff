// Package pods tests runs in Pods, on a control plane with a node, as users meet them. What they
// have in common with other runs, test/e2e tests.
package pods

import (
	"context"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// cp is the control plane that all tests share.
var cp *cluster.Cluster

func TestMain(m *testing.M) {
	(&cluster.Suite{
		Stack: "test", Target: "test-node",
		Options: controlplane.Options{Node: true},
		Prepare: func(ctx context.Context, s *controlplane.Stack) (err error) {
			if err := errors.Join(s.ImportProvider(ctx), s.RevokePods(ctx)); err != nil {
				return err
			}
			cp, err = cluster.New(s)
			return err
		},
	}).Main(m)
}
