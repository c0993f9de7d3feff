package controlplane

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	pkgv1 "github.com/crossplane/crossplane/apis/v2/pkg/v1"
)

// function-ansible.
func (s *Stack) function(ctx context.Context) (*Piece, error) {
	return s.serve(ctx, nameFunction, s.ports[nameFunction], "--debug",
		"--metrics-address="+loopback(s.ports[portFunctionMetrics]))
}

// Function brings up another function for pipelines, a tool by that name, if it
// is not up already. The stack should be up. Where the function serves metrics is
// not for us to say: function-patch-and-transform takes port 8080 if it is free.
func (s *Stack) Function(ctx context.Context, name string) error {
	s.functions.Lock()
	defer s.functions.Unlock()

	p, err := loadPorts(ctx, s.path(filePorts), name)
	if err != nil {
		return err
	}
	f, err := s.serve(ctx, name, p[name])
	if err != nil {
		return err
	}
	_, err = f.ensure(ctx)
	return errors.Wrapf(err, "cannot bring up %s", name)
}

// serve a function over mTLS, registered with core under its name.
func (s *Stack) serve(ctx context.Context, name string, port int, flags ...string) (*Piece, error) {
	c, err := s.Client()
	if err != nil {
		return nil, err
	}
	ca, err := coreAuthority(ctx, c)
	if err != nil {
		return nil, err
	}
	dir := s.path(name, dirTLS)
	if err := issue(ca, dir, name); err != nil {
		return nil, err
	}
	address := loopback(port)
	if err := register(ctx, c, name, address); err != nil {
		return nil, err
	}
	return s.piece(name, accepts("tcp", address), nil, append(flags, "--tls-certs-dir="+dir, "--address="+address)...), nil
}

// register a function that runs as a process here with core. What the package
// manager would have made of a package is put there, and paused so that it is
// left alone.
func register(ctx context.Context, c client.Client, name, address string) error {
	image := "example.org/" + name + ":dev"
	paused := map[string]string{"crossplane.io/paused": "true"}

	// Core closes connections to functions that are not there every 10 minutes.
	f := &pkgv1.Function{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := controllerutil.CreateOrUpdate(ctx, c, f, func() error {
		f.SetAnnotations(paused)
		f.Spec.Package = image
		return nil
	})
	if err != nil {
		return errors.Wrap(err, "cannot register function")
	}
	// Core says in their status that they are paused, at the same time.
	was := client.MergeFrom(f.DeepCopy())
	f.SetConditions(pkgv1.Active(), pkgv1.Healthy())
	if err := c.Status().Patch(ctx, f, was); err != nil {
		return errors.Wrap(err, "cannot set the status of the function")
	}

	r := &pkgv1.FunctionRevision{ObjectMeta: metav1.ObjectMeta{Name: name + "-dev"}}
	_, err = controllerutil.CreateOrUpdate(ctx, c, r, func() error {
		r.SetAnnotations(paused)
		r.SetLabels(map[string]string{pkgv1.LabelParentPackage: name})
		r.Spec.DesiredState = pkgv1.PackageRevisionActive
		r.Spec.Revision = 1
		r.Spec.Package = image
		return controllerutil.SetControllerReference(f, r, c.Scheme())
	})
	if err != nil {
		return errors.Wrap(err, "cannot register function revision")
	}
	was = client.MergeFrom(r.DeepCopy())
	r.SetConditions(pkgv1.RevisionHealthy(), pkgv1.RuntimeHealthy())
	r.Status.Endpoint = "dns:///" + address
	r.Status.Capabilities = []string{pkgmetav1.FunctionCapabilityComposition, pkgmetav1.FunctionCapabilityOperation}
	return errors.Wrap(c.Status().Patch(ctx, r, was), "cannot set the status of the function revision")
}
