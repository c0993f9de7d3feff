package controller

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
)

// SetupGated sets up all controllers. The controllers of a kind start once its CRDs exist. If the provider may not
// watch CRDs, as with Crossplane v2.0, all start at once.
func SetupGated(ctx context.Context, mgr ctrl.Manager, o Options) error {
	safe, err := maySafeStart(ctx, mgr)
	if err != nil {
		return errors.Wrap(err, "cannot find out whether CustomResourceDefinitions may be watched")
	}

	g := new(gate.Gate[schema.GroupVersionKind])
	s := &started{elected: mgr.Elected()}
	quiet := statusManager{mgr, nil}

	register := func(k schema.GroupVersionKind, setup func() error, needs ...schema.GroupVersionKind) {
		start := func() {
			err := errors.Wrapf(setup(), "cannot start the controller of %s", k.GroupKind())
			if err != nil {
				o.Logger.Info("Cannot start a controller", "error", err)
			}

			s.add(err)
		}

		if !safe {
			start()
			return
		}

		g.Register(start, needs...)
	}

	for _, k := range config.Kinds() {
		register(k.Config, func() error { return config.Setup(quiet, k, o.Options, o.Lacking) }, k.Config, k.Usage)
	}

	for _, k := range runKinds() {
		needs := []schema.GroupVersionKind{k, k.GroupVersion().WithKind(common.KindApproval)}

		for _, c := range config.Kinds() {
			if c.Config.Group == k.Group {
				needs = append(needs, c.Config, c.Usage)
			}
		}

		register(k, func() error { return setup(ctx, mgr, k, o) }, needs...)
	}

	if err := mgr.AddReadyzCheck("controllers", s.check); err != nil {
		return errors.Wrap(err, "cannot serve /readyz")
	}

	if !safe {
		o.Logger.Info("All controllers were started at once, since CustomResourceDefinitions may not be watched")
		return nil
	}

	o.Gate = g

	return errors.Wrap(customresourcesgate.Setup(mgr, o.Options), "cannot set up the gate of the controllers")
}

// maySafeStart is true if the provider may watch CustomResourceDefinitions.
func maySafeStart(ctx context.Context, mgr ctrl.Manager) (bool, error) {
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authv1.SelfSubjectAccessReview{Spec: authv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authv1.ResourceAttributes{
				Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Verb: verb,
			},
		}}

		if err := mgr.GetClient().Create(ctx, review); err != nil || !review.Status.Allowed {
			return false, err
		}
	}

	return true, nil
}

// started counts the started controllers for /readyz.
type started struct {
	elected <-chan struct{}

	mu    sync.Mutex
	count int
	errs  error
}

// add adds the result of the start of a controller.
func (s *started) add(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.count++
	s.errs = errors.Join(s.errs, err)
}

// check returns an error unless at least one controller has started and none has failed to start. A replica that waits
// for its election is ready: a rollout ends the leader only when its successor is ready.
func (s *started) check(*http.Request) error {
	select {
	case <-s.elected:
	default:
		return nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.count == 0 {
		return errors.New("no controller was started yet: are the CustomResourceDefinitions installed?")
	}

	return s.errs
}
