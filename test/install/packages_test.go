package install

import (
	"archive/tar"
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const root = "../.."

// binary of ours, with a version in it.
func binary(t *testing.T, name, version string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-X main.version="+version, "-o", out, "./"+strings.TrimSuffix(name, "-ansible"))
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %s\n%s", name, err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// image with a binary of ours in it, and little else: the node lends it this
// machine's Python and Ansible.
func image(t *testing.T, name, version string) v1.Image {
	t.Helper()
	b := &bytes.Buffer{}
	w := tar.NewWriter(b)
	add(t, w, tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755}, binary(t, name, version))
	add(t, w, tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("ansible:x:2000:2000::/home/ansible:/bin/sh\n"))
	add(t, w, tar.Header{Name: "etc/group", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("ansible:x:2000:\n"))
	add(t, w, tar.Header{Name: "home/ansible", Typeflag: tar.TypeDir, Mode: 0o755, Uid: 2000, Gid: 2000}, nil)
	add(t, w, tar.Header{Name: "tmp", Typeflag: tar.TypeDir, Mode: 0o1777}, nil)
	for _, d := range []string{"bin", "sbin", "lib", "lib64"} {
		add(t, w, tar.Header{Name: d, Typeflag: tar.TypeSymlink, Linkname: "usr/" + d}, nil)
	}
	img, err := mutate.AppendLayers(empty.Image, layer(t, w, b))
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64"
	file.Config = v1.Config{
		Entrypoint: []string{"/" + name},
		Env:        []string{"PATH=" + lent().path + ":/usr/local/bin:/usr/bin:/bin", "HOME=/home/ansible", "LANG=C.UTF-8"},
		User:       "2000:2000",
		WorkingDir: "/home/ansible",
	}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return img
}

// packaged is an image with the files of a package, as crossplane xpkg build puts
// them together.
func packaged(t *testing.T, dir string, img v1.Image) v1.Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "package.xpkg")
	args := []string{"xpkg", "build", "--package-root=" + dir, "--package-file=" + out, "--examples-root=" + t.TempDir()}
	if img != nil {
		file := filepath.Join(t.TempDir(), "image.tar")
		tag, err := name.NewTag("example.org/runtime:latest")
		if err != nil {
			t.Fatal(err)
		}
		if err := tarball.WriteToFile(file, tag, img); err != nil {
			t.Fatalf("cannot save image: %s", err)
		}
		args = append(args, "--embed-runtime-image-tarball="+file)
	}
	cmd := exec.CommandContext(t.Context(), cp.stack.Tool("crank"), args...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("crossplane %s: %s\n%s", strings.Join(args, " "), err, text)
	}
	pkg, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatalf("cannot read package: %s", err)
	}
	return pkg
}

// released packages to install, instead of those that are put together here.
var released = flag.String("packages", "", "Directory with packages that make packages has built. Without it they are put together of the binaries, and this machine's Ansible.")

// publish a version of the function and of the provider.
func publish(t *testing.T, version string) {
	t.Helper()
	for _, n := range []string{"function-ansible", "provider-ansible"} {
		if *released != "" {
			host.Registry.Push(t, n, version, stamped(t, filepath.Join(*released, n+".xpkg"), n, version))
			continue
		}
		dir := filepath.Join(root, "package-"+strings.TrimSuffix(n, "-ansible"))
		host.Registry.Push(t, n, version, packaged(t, dir, image(t, n, version)))
	}
}

// stamped is a package that was built, with a binary of another version.
func stamped(t *testing.T, file, name, version string) v1.Image {
	t.Helper()
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatalf("cannot read package: %s", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatalf("cannot read package: %s", err)
	}
	i := slices.IndexFunc(config.Config.Entrypoint, func(a string) bool { return strings.HasSuffix(a, "/"+name) })
	if i < 0 {
		t.Fatalf("The entrypoint of %s should have the path of %s, got %v", file, name, config.Config.Entrypoint)
	}
	b := &bytes.Buffer{}
	w := tar.NewWriter(b)
	add(t, w, tar.Header{Name: strings.TrimPrefix(config.Config.Entrypoint[i], "/"), Typeflag: tar.TypeReg, Mode: 0o755}, binary(t, name, version))
	if img, err = mutate.AppendLayers(img, layer(t, w, b)); err != nil {
		t.Fatal(err)
	}
	return img
}

// add a file to an archive.
func add(t *testing.T, w *tar.Writer, h tar.Header, text []byte) {
	t.Helper()
	h.Size = int64(len(text))
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
}

// layer of what an archive has.
func layer(t *testing.T, w *tar.Writer, b *bytes.Buffer) v1.Layer {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}
