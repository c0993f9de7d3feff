package controlplane

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ProviderImage is the provider's own image on the node.
const ProviderImage = "docker.io/crossplane-ansible/provider-ansible:dev"

// Import the images of an archive, as docker save writes it, to the node. Pods get
// them with the imagePullPolicy Never.
func (s *Stack) Import(ctx context.Context, archive string) error {
	socket, err := s.inside("root", "run", "containerd", "containerd.sock")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, s.bin("ctr"), "--address="+socket, "--namespace=k8s.io", "images", "import",
		archive).CombinedOutput()
	return errors.Wrapf(err, "cannot import %q: %s", archive, out)
}

// ImportProvider to the node: the image that make node-image has built, whatever
// program is in there, with the program that make build has built.
func (s *Stack) ImportProvider(ctx context.Context) error {
	base := s.providerArchive()
	archive := func() (io.ReadCloser, error) { return os.Open(base) }
	all, err := tarball.LoadManifest(archive)
	if err != nil {
		return errors.Wrap(err, "cannot read image, has make node-image built it?")
	}
	img, err := tarball.Image(archive, nil)
	if err != nil {
		return errors.Wrapf(err, "cannot read image %q", base)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return errors.Wrapf(err, "cannot read image %q", base)
	}
	program := filepath.Join(s.opts.Root, "bin", nameProvider)
	return s.importFile(ctx, ProviderImage, program, "usr/local/bin/"+nameProvider, config.DeepCopy(), base,
		all[0].Layers...)
}

// providerArchive is the image that make node-image has built.
func (s *Stack) providerArchive() string {
	return filepath.Join(s.opts.Root, ".cache", "images", nameProvider+"-"+runtime.GOARCH+".tar")
}

// ImportProgram to the node as an image with nothing but a program, which needs
// nothing else, and arguments of it.
func (s *Stack) ImportProgram(ctx context.Context, image, program string, args ...string) error {
	name := filepath.Base(program)
	return s.importFile(ctx, image, program, name, &v1.ConfigFile{
		OS:           "linux",
		Architecture: runtime.GOARCH,
		Config:       v1.Config{Entrypoint: append([]string{"/" + name}, args...)},
		RootFS:       v1.RootFS{Type: "layers"},
	}, "")
}

// importFile as an image that has a program at a path, on top of layers of an
// archive. Nothing is compressed, which would take most of the time.
func (s *Stack) importFile(ctx context.Context, image, program, path string, config *v1.ConfigFile, base string,
	layers ...string,
) error {
	top, err := Layer(program, path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(top)
	config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])})
	config.History = nil // It would have to tell of all layers.
	about, err := json.Marshal(config)
	if err != nil {
		return errors.Wrap(err, "cannot encode configuration")
	}
	manifest, err := json.Marshal(
		tarball.Manifest{{Config: "config.json", RepoTags: []string{image}, Layers: append(slices.Clone(layers), "top.tar")}})
	if err != nil {
		return errors.Wrap(err, "cannot encode manifest")
	}

	f, err := os.CreateTemp(s.opts.Dir, "image-*.tar")
	if err != nil {
		return errors.Wrap(err, "cannot make archive")
	}
	defer os.Remove(f.Name()) //nolint:errcheck // It goes with the stack, at the latest.
	w := tar.NewWriter(f)
	err = errors.Join(
		copyFiles(w, base, layers),
		add(w, "top.tar", 0o644, top),
		add(w, "config.json", 0o644, about),
		add(w, "manifest.json", 0o644, manifest),
		w.Close(),
		f.Close(),
	)
	if err != nil {
		return errors.Wrap(err, "cannot write archive")
	}
	return s.Import(ctx, f.Name())
}

// Layer of an image with one program, which every user may execute, as an archive.
func Layer(program, path string) ([]byte, error) {
	b, err := os.ReadFile(program)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read program")
	}
	buf := &bytes.Buffer{}
	w := tar.NewWriter(buf)
	err = errors.Join(add(w, path, 0o755, b), w.Close())
	return buf.Bytes(), errors.Wrap(err, "cannot write layer")
}

// copyFiles of an archive.
func copyFiles(w *tar.Writer, archive string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // It was only read.
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.Contains(names, strings.TrimPrefix(h.Name, "./")) {
			continue
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(w, r); err != nil { //nolint:gosec // It is not compressed, and ours.
			return err
		}
	}
}

func add(w *tar.Writer, name string, mode int64, b []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(b))}); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}
