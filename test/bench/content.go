package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// content counts how often it is fetched for objects that share it.
func (b *bench) content(ctx context.Context, c *cli) error {
	archive, err := b.collection(ctx)
	if err != nil {
		return err
	}
	var fetched atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fetched.Add(1)
		}
		http.ServeFile(w, r, archive)
	}))
	defer web.Close()

	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.create(ctx,
		config("shared",
			fmt.Sprintf("collections: [{name: %q, type: url}]", web.URL+"/"+filepath.Base(archive)))); err != nil {
		return err
	}
	var runs []*v1alpha1.AnsibleRun
	for i := range c.Sharing {
		r := ansibleRun(fmt.Sprintf("sharing-%d", i), work{})
		r.Spec.ProviderConfigReference.Name = "shared"
		r.Spec.ForProvider.Role = "bench.content.role"
		runs = append(runs, r)
	}
	wall, err := b.applied(ctx, runs...)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(b.out,
		"\n%d objects that share a configuration with a collection: Ready after %s, fetched %d time(s).\nOnce: %s.\n",
		c.Sharing, seconds(wall), fetched.Load(), verdict(fetched.Load() == 1))
	return b.removed(ctx)
}

// collection builds an archive of a collection with one role.
func (b *bench) collection(ctx context.Context) (string, error) {
	dir := filepath.Join(b.dir, "collection")
	for name, text := range map[string]string{
		"galaxy.yml":                "namespace: bench\nname: content\nversion: 1.0.0\nreadme: README.md\nauthors: [bench]\n",
		"README.md":                 "A collection to measure with.\n",
		"roles/role/tasks/main.yml": "- ansible.builtin.debug: {msg: Hello}\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return "", errors.Wrap(err, "cannot write a collection")
		}
	}
	out, err := b.tool(ctx, dir, "ansible-galaxy", "collection", "build", "--output-path", b.dir).CombinedOutput()
	return filepath.Join(b.dir, "bench-content-1.0.0.tar.gz"), errors.Wrapf(err, "cannot build a collection: %s", out)
}
