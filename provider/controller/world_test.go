package controller

import (
	"context"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A world has an object in an API server, a pool for its runs, and a target that the runs change.
type world struct {
	t       *testing.T
	kube    client.Client
	object  common.AnsibleRun
	pool    *fakePool
	connect *connector
	now     time.Time
	ids     int
	// offline is true while no writes succeed, and refused while writes of Secrets fail.
	offline, refused bool

	// wanted is the desired state of the target, and target its actual state.
	wanted, target string
	// deleted is true for a deleted object, and gone once it does not exist.
	deleted, gone bool
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()

	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clusterv1alpha1.AddToScheme, corev1.AddToScheme} {
		needs.OK(t, add(s))
	}

	return s
}

// fakeKube returns builders of API servers.
func fakeKube(t *testing.T) *fake.ClientBuilder {
	t.Helper()

	// A scheme with all kinds of Kubernetes takes longer than a sequence.
	kinds := apimeta.NewDefaultRESTMapper(nil)
	kinds.Add(runKinds()[0], apimeta.RESTScopeRoot)
	kinds.Add(runKinds()[1], apimeta.RESTScopeNamespace)
	kinds.Add(v1alpha1.SchemeGroupVersion.WithKind(common.KindApproval), apimeta.RESTScopeNamespace)
	kinds.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)

	return fake.NewClientBuilder().WithScheme(testScheme(t)).WithRESTMapper(kinds).
		WithStatusSubresource(&v1alpha1.AnsibleRun{}, &clusterv1alpha1.AnsibleRun{})
}

func newWorld(t *testing.T, run common.AnsibleRun) *world {
	t.Helper()

	w := &world{t: t, object: run, now: t0, wanted: "a"}
	w.pool = &fakePool{now: func() time.Time { return w.now }}
	w.kube = fakeKube(t).WithObjects(run).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, os ...client.UpdateOption) error {
			if w.offline {
				return errBoom
			}

			return c.Update(ctx, o, os...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, os ...client.SubResourceUpdateOption) error {
			if w.offline {
				return errBoom
			}

			return c.SubResource(sub).Update(ctx, o, os...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, os ...client.CreateOption) error {
			o.SetUID(uuid.NewUUID())

			return w.secret(o, func() error { return c.Create(ctx, o, os...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, os ...client.PatchOption) error {
			return w.secret(o, func() error { return c.Patch(ctx, o, p, os...) })
		},
	}).Build()
	w.connect = newConnector(w.pool, func(c *connector) {
		c.Resolver = resolverFn(func() (inputs.Inputs, error) { return in(w.wanted), nil })
		c.kube, c.metadata = w.kube, w.kube
		c.now = func() time.Time { return w.now }
		c.newID = func() string { w.ids++; return strconv.Itoa(w.ids) }
	})

	if _, ok := run.(resource.LegacyManaged); ok {
		w.connect.kind = runKinds()[0]
	}

	return w
}

// secret writes a Secret, unless that is refused.
func (w *world) secret(o client.Object, write func() error) error {
	if _, ok := o.(*corev1.Secret); ok && w.refused {
		return errBoom
	}

	return write()
}

func (w *world) read() {
	w.t.Helper()

	run := newOf[common.AnsibleRun](w.kube.Scheme(), w.connect.kind, common.KindAnsibleRun)
	err := w.kube.Get(w.t.Context(), client.ObjectKeyFromObject(w.object), run)
	if w.gone = w.deleted && kerrors.IsNotFound(err); w.gone {
		return
	}

	needs.OK(w.t, err)

	w.object = run
}

func (w *world) update(fn func(run common.AnsibleRun)) {
	w.t.Helper()
	w.read()
	fn(w.object)

	needs.OK(w.t, w.kube.Update(w.t.Context(), w.object))
}

func (w *world) annotate(k, v string) {
	w.t.Helper()
	w.update(func(run common.AnsibleRun) { meta.AddAnnotations(run, map[string]string{k: v}) })
}

// delete deletes the object.
func (w *world) delete() {
	w.t.Helper()
	w.read()

	needs.OK(w.t, w.kube.Delete(w.t.Context(), w.object))

	w.deleted = true
	w.read()
}
