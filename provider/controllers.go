package main

import (
	"context"
	"net/http"
	"sync"

	authv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/controller"
)

// A controllerSetup sets up one controller.
type controllerSetup struct {
	name  string
	needs []schema.GroupVersionKind
	setup func(mgr ctrl.Manager) error
}

// setups of all controllers.
func setups(ctx context.Context, o controller.Options) []controllerSetup {
	var all []controllerSetup

	for _, k := range config.Kinds() {
		all = append(all, controllerSetup{
			name:  k.Config.GroupKind().String(),
			needs: []schema.GroupVersionKind{k.Config, k.Usage},
			setup: func(mgr ctrl.Manager) error { return config.Setup(mgr, k, o.Options) },
		})
	}

	for _, k := range controller.Kinds() {
		all = append(all, controllerSetup{
			name:  k.GroupKind().String(),
			needs: needs(k),
			setup: func(mgr ctrl.Manager) error { return controller.Setup(ctx, mgr, k, o) },
		})
	}

	return all
}

// needs are the kinds that the controller of an AnsibleRun works with.
func needs(run controller.Kind) []schema.GroupVersionKind {
	all := []schema.GroupVersionKind{run.GroupVersionKind, run.GroupVersion().WithKind(common.KindApproval)}

	for _, k := range config.Kinds() {
		if k.Config.Group == run.Group {
			all = append(all, k.Config, k.Usage)
		}
	}

	return all
}

// setup the controllers. Where the provider may watch CRDs, the controllers of a kind
// start when its CRD is there; otherwise all start at once.
func setup(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	safe, err := maySafeStart(ctx, mgr)
	if err != nil {
		return errors.Wrap(err, "cannot find out whether CustomResourceDefinitions may be watched")
	}

	started := newStarted(mgr.Elected())
	if err := mgr.AddReadyzCheck("controllers", started.check); err != nil {
		return errors.Wrap(err, "cannot serve /readyz")
	}

	if !safe {
		o.Logger.Info("Starting all controllers at once, since CustomResourceDefinitions may not be watched")

		for _, s := range setups(ctx, o) {
			if err := s.setup(mgr); err != nil {
				return errors.Wrapf(err, "cannot set up %s", s.name)
			}

			started.add(s.name, nil)
		}

		return nil
	}

	o.Gate = new(gate.Gate[schema.GroupVersionKind])

	for _, s := range setups(ctx, o) {
		o.Gate.Register(func() {
			err := s.setup(mgr)
			if err != nil {
				o.Logger.Info("Cannot start a controller", "controller", s.name, "error", err)
			}

			started.add(s.name, err)
		}, s.needs...)
	}

	return errors.Wrap(customresourcesgate.Setup(mgr, o.Options), "cannot set up the gate of the controllers")
}

// maySafeStart is true if the provider may watch CustomResourceDefinitions.
func maySafeStart(ctx context.Context, mgr ctrl.Manager) (bool, error) {
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authv1.SelfSubjectAccessReview{Spec: authv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authv1.ResourceAttributes{
				Group:    apiextensionsv1.GroupName,
				Resource: "customresourcedefinitions",
				Verb:     verb,
			},
		}}

		if err := mgr.GetClient().Create(ctx, review); err != nil {
			return false, err
		}

		if !review.Status.Allowed {
			return false, nil
		}
	}

	return true, nil
}

// started has the results of starting controllers, for /readyz.
type started struct {
	elected <-chan struct{}

	mu      sync.Mutex
	results map[string]error
}

// newStarted returns no results. Controllers start once the replica was elected.
func newStarted(elected <-chan struct{}) *started {
	return &started{elected: elected, results: map[string]error{}}
}

func (s *started) add(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.results[name] = err
}

// check that at least one controller was started and none failed to start. A replica that
// waits to be elected is ready: a rollout ends the leader only when its successor is ready.
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
