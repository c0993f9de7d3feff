package main

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
)

// A controllerSetup sets up one controller.
type controllerSetup struct {
	name  string
	needs []schema.GroupVersionKind
	setup func(mgr ctrl.Manager) error
}

// setups of all controllers.
func setups(ctx context.Context, o ansiblerun.Options) []controllerSetup {
	var all []controllerSetup

	for _, k := range config.Kinds() {
		all = append(all, controllerSetup{
			name:  k.Config.GroupKind().String(),
			needs: []schema.GroupVersionKind{k.Config, k.Usage},
			setup: func(mgr ctrl.Manager) error { return config.Setup(mgr, k, o.Options) },
		})
	}

	for _, k := range ansiblerun.Kinds() {
		all = append(all, controllerSetup{
			name:  k.GroupKind().String(),
			needs: needs(k),
			setup: func(mgr ctrl.Manager) error { return ansiblerun.Setup(ctx, mgr, k, o) },
		})
	}

	return all
}

// needs are the kinds that the controller of an AnsibleRun works with.
func needs(run ansiblerun.Kind) []schema.GroupVersionKind {
	all := []schema.GroupVersionKind{run.GroupVersionKind}

	for _, k := range config.Kinds() {
		if k.Config.Group == run.Group {
			all = append(all, k.Config, k.Usage)
		}
	}

	return all
}

// started controllers.
type started struct {
	elected <-chan struct{}

	mu      sync.Mutex
	results map[string]error
}

// newStarted for a replica that starts controllers once it was elected.
func newStarted(elected <-chan struct{}) *started {
	return &started{elected: elected, results: map[string]error{}}
}

func (s *started) add(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.results[name] = err
}

// check that a controller was started and none failed to: a provider that
// reconciles nothing is not ready. One that waits to be elected is: a rollout
// would never let go of the one that leads otherwise.
func (s *started) check(*http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	select {
	case <-s.elected:
	default:
		return nil
	}

	if len(s.results) == 0 {
		return errors.New("no controller was started yet: are the CustomResourceDefinitions installed?")
	}

	for name, err := range s.results {
		if err != nil {
			return errors.Wrapf(err, "cannot start the controller of %s", name)
		}
	}

	return nil
}
