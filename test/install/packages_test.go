package install

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// organisation that the packages are published under.
const organisation = "crossplane-ansible"

// pushed are the packages that the registry has.
var pushed = map[string]bool{}

// publish a version of a package of ours, once.
func publish(t *testing.T, program, version string) {
	t.Helper()
	if pushed[program+version] {
		return
	}
	pushed[program+version] = true
	tag, err := name.NewTag("example.org/" + program)
	needs.OK(t, err)
	file := filepath.Join(t.TempDir(), program+".xpkg")
	needs.OK(t, tarball.WriteToFile(file, tag, stamped(t, filepath.Join(released, program+".xpkg"), program, version)))
	push(t, file, organisation+"/"+program, version)
}

// push a package to a repository as its publishers do.
func push(t *testing.T, file, repository, version string) {
	t.Helper()
	crank(t, "xpkg", "push", "--package-files="+file, warehouse+"/"+repository+":"+version)
}

// crank runs the command line of Crossplane.
func crank(t *testing.T, args ...string) {
	t.Helper()
	if text, err := exec.CommandContext(t.Context(), cp.Stack.Tool("crank"), args...).CombinedOutput(); err != nil {
		t.Fatalf("crossplane %s: %s\n%s", strings.Join(args, " "), err, text)
	}
}

// stamped is a package that was built, with a binary of another version.
func stamped(t *testing.T, file, program, version string) v1.Image {
	t.Helper()
	img, err := tarball.ImageFromPath(file, nil)
	needs.OK(t, err)
	config, err := img.ConfigFile()
	needs.OK(t, err)
	i := slices.IndexFunc(config.Config.Entrypoint, func(a string) bool { return strings.HasSuffix(a, "/"+program) })
	if i < 0 {
		t.Fatalf("The entrypoint of %s should have the path of %s, got %v", file, program, config.Config.Entrypoint)
	}
	b, err := controlplane.Layer(binary(t, program, version), strings.TrimPrefix(config.Config.Entrypoint[i], "/"))
	needs.OK(t, err)
	top, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil })
	needs.OK(t, err)
	img, err = mutate.AppendLayers(img, top)
	needs.OK(t, err)
	return img
}

// binary of ours, with a version in it: its path.
func binary(t *testing.T, program, version string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), program)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-X main.version="+version, "-o", out, "./"+strings.TrimSuffix(program, "-ansible"))
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %s\n%s", program, err, text)
	}
	return out
}
