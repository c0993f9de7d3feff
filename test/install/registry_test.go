package install

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// organisation that the packages are published under.
const organisation = "crossplane-ansible"

// A warehouse is an OCI registry on loopback that remembers what was pushed.
type warehouse struct {
	*httptest.Server

	mu     sync.Mutex
	images map[string]v1.Image
}

func newWarehouse() *warehouse {
	return &warehouse{
		Server: httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)))),
		images: map[string]v1.Image{},
	}
}

// Host of the registry, for references.
func (w *warehouse) Host() string { return strings.TrimPrefix(w.URL, "http://") }

// Image that was pushed, by a reference with a tag or a digest.
func (w *warehouse) Image(ref string) (v1.Image, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	img, ok := w.images[strings.TrimPrefix(ref, w.Host()+"/")]
	if !ok {
		return nil, errors.Errorf("there is no image %q", ref)
	}
	return img, nil
}

// Push an image under a name and a tag.
func (w *warehouse) Push(t *testing.T, name, tag string, img v1.Image) {
	t.Helper()
	repo := organisation + "/" + name
	layers, err := img.Layers()
	if err != nil {
		t.Fatalf("cannot read image: %s", err)
	}
	for _, l := range layers {
		d, err := l.Digest()
		if err != nil {
			t.Fatalf("cannot read layer: %s", err)
		}
		r, err := l.Compressed()
		if err != nil {
			t.Fatalf("cannot read layer: %s", err)
		}
		w.blob(t, repo, d, r)
	}
	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatalf("cannot read image: %s", err)
	}
	name, err = configName(img)
	if err != nil {
		t.Fatalf("cannot read image: %s", err)
	}
	h, err := v1.NewHash(name)
	if err != nil {
		t.Fatalf("cannot read image: %s", err)
	}
	w.blob(t, repo, h, bytes.NewReader(config))

	manifest, err := img.RawManifest()
	if err != nil {
		t.Fatalf("cannot read image: %s", err)
	}
	kind, err := img.MediaType()
	if err != nil {
		t.Fatalf("cannot read image: %s", err)
	}
	w.send(t, http.MethodPut, "/v2/"+repo+"/manifests/"+tag, string(kind), bytes.NewReader(manifest))

	digest, err := img.Digest()
	if err != nil {
		t.Fatalf("cannot read image: %s", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.images[repo+":"+tag] = img
	w.images[fmt.Sprintf("%s@%s", repo, digest)] = img
}

func configName(img v1.Image) (string, error) {
	h, err := img.ConfigName()
	return h.String(), err
}

func (w *warehouse) blob(t *testing.T, repo string, digest v1.Hash, r io.Reader) {
	t.Helper()
	w.send(t, http.MethodPost, "/v2/"+repo+"/blobs/uploads/?digest="+url.QueryEscape(digest.String()), "application/octet-stream", r)
}

func (w *warehouse) send(t *testing.T, method, path, kind string, body io.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, w.URL+path, body)
	if err != nil {
		t.Fatalf("cannot make request: %s", err)
	}
	req.Header.Set("Content-Type", kind)
	rsp, err := w.Client().Do(req)
	if err != nil {
		t.Fatalf("cannot push: %s", err)
	}
	defer rsp.Body.Close()
	if rsp.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(rsp.Body)
		t.Fatalf("cannot push: %s: %s", rsp.Status, text)
	}
}
