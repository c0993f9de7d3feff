package pods

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientset "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// without returns a client without rights in a namespace, of which it learns what making a Secret there
// returns.
func without(all client.Client, secrets error) client.Client {
	denied := kerrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "x", errors.New("no RBAC policy matched"))
	inner, _ := all.(client.WithWatch)

	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return denied
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return denied },
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			switch o.(type) {
			case *corev1.Secret:
				return secrets
			case *batchv1.Job:
				return denied
			}

			return nil
		},
	})
}

// terminating is the error of what is made in a namespace that is being deleted.
func terminating() error {
	err := kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}

	return err
}

// The rights of the provider in a namespace may be taken away while a run is in progress. They go with the
// namespace, too.
func TestLost(t *testing.T) {
	gone := kerrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")

	for name, tc := range map[string]struct {
		reason string
		// secrets is what making a Secret returns.
		secrets error
		// shown is true if the cache shows the run, and blind if that may be old.
		shown, blind bool
		want         bool
	}{
		"Rights":      {"A run whose Pod may run goes on, and says which rights are missing.", nil, true, true, false},
		"Uncanceled":  {"It says so, too, as long as the cache shows it.", nil, true, false, false},
		"Over":        {"A run of which nothing is left has ended.", nil, false, false, true},
		"Unknown":     {"What the cache has shown long ago says nothing.", nil, false, true, false},
		"Terminating": {"A namespace that is deleted takes its runs with it.", terminating(), true, true, true},
		"Gone":        {"So does one that is not there any more.", gone, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objects []client.Object

				if tc.shown {
					j := jobOf(t, onCluster(t))
					p := podOf(j, "p", time.Second)
					p.Status = aPod(corev1.PodRunning, container(containerRun, running())).Status
					objects = []client.Object{j, p}
				}

				r := onCluster(t, objects...)
				r.now, r.key, r.stop, r.begun = time.Now, sealed.NewKey(), func() {}, true
				r.report.Run.Phase = common.PhaseRunning
				r.config.Context, r.logs = t.Context(), clientset.NewClientset()

				defer func() { r.stop() }()

				r.scope = &scope{Cache: &asCache{reader: byRun{r.config.Client}}}
				r.scope.blind.Store(tc.blind)
				r.config.Client = without(r.config.Client, tc.secrets)

				if r.look(t.Context(), true) {
					t.Fatal("A run should not end before its Pod has had time to end.")
				}

				said := r.report.Run.Message

				time.Sleep(lostFor + time.Second)

				if got := r.look(t.Context(), true); got != tc.want {
					t.Errorf("%s\nlook(...): want %t, got %t", tc.reason, tc.want, got)
				}

				n := r.report.Run
				if ended := n.Phase == common.PhaseInterrupted; ended != tc.want || ended && r.report.Untouched || !strings.Contains(said, "kubectl create rolebinding") {
					t.Errorf("%s\nthe run says %q, and then: %+v", tc.reason, said, n)
				}
			})
		})
	}
}

// A provider that starts may find no rights to see a run that its predecessor has begun.
func TestAttachLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onCluster(t)
		x := r.Executor
		x.now = time.Now
		x.config.Context, x.config.Client = t.Context(), without(r.config.Client, terminating())
		x.scopes.config, x.scopes.all = x.config, map[string]*scope{}

		r.job.Begun = &common.Run{ID: r.job.ID, Phase: common.PhaseRunning}

		got := x.Execute(t.Context(), r.job, executor.Watch{})
		if got.Run.Phase != common.PhaseInterrupted || got.Untouched || !got.Blameless {
			t.Errorf("Execute(...) of a run whose namespace is deleted: %+v", got)
		}
	})
}

// Rights are checked once for a namespace, and may be gone when its next run begins.
func TestRightsRevoked(t *testing.T) {
	r := onCluster(t)
	j := jobOf(t, r)
	r.config.Client = without(r.config.Client, nil)

	err := r.make(t.Context(), j)
	if !errors.As(err, new(*rights.Error)) {
		t.Errorf("make(...) without rights should name the command that grants them: %v", err)
	}

	r.config.Client = interceptor.NewClient(onCluster(t).config.Client.(client.WithWatch), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = true
				return nil
			}

			return terminating()
		},
	})

	if err := r.make(t.Context(), j); !errors.As(err, new(*refusal)) || errors.As(err, new(*rights.Error)) {
		t.Errorf("make(...) that is refused for another reason: %v", err)
	}
}
