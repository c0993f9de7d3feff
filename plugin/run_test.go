package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/objects"
)

// TestTimeout has a time limit that ends during a request to the API server.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := generator{rand.New(rand.NewPCG(1, 2))}
		run := g.run("run", "", "", false, false, "", "")
		run.SetAnnotations(nil)

		p := g.plugin(state{run}, &bytes.Buffer{})
		p.client = objects.New(fake.NewClientBuilder().WithObjects(run).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
				<-ctx.Done()
				return ctx.Err()
			},
		}).Build(), func(schema.GroupVersionKind) bool { return true })

		c := p.root()
		c.SetArgs([]string{"run", "site/x", "--timeout=3s"})

		if err := c.ExecuteContext(t.Context()); !errors.Is(err, errTime) {
			t.Errorf("want %v, got %v", errTime, err)
		}
	})
}
