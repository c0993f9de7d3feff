package content

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func collectionFiles(name, version string) map[string]string {
	return map[string]string{
		"galaxy.yml":                 "namespace: acme\nname: " + name + "\nversion: " + version + "\nreadme: README.md\nauthors: [acme]\n",
		"README.md":                  "# A collection\n",
		"roles/hello/tasks/main.yml": "- ansible.builtin.debug:\n    msg: hello\n",
	}
}

func roleFiles() map[string]string {
	return map[string]string{
		"meta/main.yml":  "galaxy_info: {author: acme, description: a role, license: Apache-2.0, min_ansible_version: '2.14'}\ndependencies: []\n",
		"tasks/main.yml": "- ansible.builtin.debug:\n    msg: hello\n",
	}
}

// buildCollection in dir and return its archive, which is in dir unless another
// directory is given.
func buildCollection(t *testing.T, dir, name, version string, into ...string) string {
	t.Helper()

	write(t, dir, collectionFiles(name, version))

	out := dir
	if len(into) > 0 {
		out = into[0]
	}

	command(t, dir, "ansible-galaxy", "collection", "build", "--output-path", out)

	return filepath.Join(out, "acme-"+name+"-"+version+".tar.gz")
}

// gitRepo with the files, tagged v1.
func gitRepo(tb testing.TB, dir string, files map[string]string) string {
	tb.Helper()

	write(tb, dir, files)
	command(tb, dir, "git", "init", "-q")
	command(tb, dir, "git", "add", ".")
	command(tb, dir, "git", "-c", "user.name=acme", "-c", "user.email=acme@example.org", "commit", "-q", "-m", "first")
	command(tb, dir, "git", "tag", "v1")

	return dir
}

func repoURL(dir string) string {
	return "file://" + dir
}

// tarball of the files in a directory, as git hosts make them.
func tarball(t *testing.T, dir string, files map[string]string) string {
	t.Helper()

	write(t, dir, files)
	command(t, filepath.Dir(dir), "tar", "-czf", dir+".tar.gz", filepath.Base(dir))

	return dir + ".tar.gz"
}

func write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()

	for name, text := range files {
		file := filepath.Join(dir, name)
		needs.OK(tb, os.MkdirAll(filepath.Dir(file), 0o700))
		needs.OK(tb, os.WriteFile(file, []byte(text), 0o600))
	}
}

func command(tb testing.TB, dir string, argv ...string) {
	tb.Helper()

	cmd := exec.Command(needs.Program(tb, argv[0]), argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)

	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %v\n%s", argv, err, out)
	}
}
