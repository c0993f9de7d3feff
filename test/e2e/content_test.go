package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// A collection of Ansible content to be made for a test.
type collection struct {
	Namespace string
	Name      string
	Version   string

	// Files by their paths in the collection.
	Files map[string]string
}

// Dir writes the sources of the collection to a directory.
func (c collection) Dir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := maps.Clone(c.Files)
	files["galaxy.yml"] = fmt.Sprintf("namespace: %s\nname: %s\nversion: %s\nreadme: README.md\nauthors: [The tests]\n", c.Namespace, c.Name, c.Version)
	files["README.md"] = "A collection for tests.\n"
	needs.Write(t, dir, files)
	return dir
}

// Tarball builds the collection as its author would, and returns the path of the
// archive.
func (c collection) Tarball(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	command(t, c.Dir(t), "ansible-galaxy", "collection", "build", "--output-path", out)
	return filepath.Join(out, fmt.Sprintf("%s-%s-%s.tar.gz", c.Namespace, c.Name, c.Version))
}

// Git makes a git repository of the collection and returns its URL. Its version
// is a tag.
func (c collection) Git(t *testing.T) string {
	t.Helper()
	dir := c.Dir(t)
	sources.Commit(t, dir, c.Version)
	return "git+file://" + dir
}

// readFile that may not be there.
func readFile(t *testing.T, path string) string {
	t.Helper()
	if !exists(path) {
		return ""
	}
	return needs.Read(t, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// command in a directory, which must succeed. It sees the programs of Ansible,
// but not the user's own configuration.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if path := filepath.Join(cp.Stack.VirtualEnv(), name); exists(path) {
		name = path
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + cp.Stack.VirtualEnv() + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + t.TempDir(),
		"LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %s\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
