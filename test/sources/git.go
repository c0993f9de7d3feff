package sources

import (
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // This Go is newer than the one it warns of.
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// InGit runs git in a directory, without the configuration of the user and of the machine, and returns what it says.
func InGit(tb testing.TB, dir string, args ...string) string {
	tb.Helper()

	cmd := exec.CommandContext(tb.Context(), needs.Program(tb, "git"),
		append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")

	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}

	return strings.TrimSpace(string(out))
}

// Commit all files of a directory to the git repository in it, which is made if need be, and return the commit.
func Commit(tb testing.TB, dir string, tags ...string) string {
	tb.Helper()
	InGit(tb, dir, "init", "--quiet", "--initial-branch=main")
	InGit(tb, dir, "add", "--all")
	InGit(tb, dir, "commit", "--quiet", "--message=Add content")

	for _, tag := range tags {
		InGit(tb, dir, "tag", tag)
	}

	return InGit(tb, dir, "rev-parse", "HEAD")
}

// Git serves the git repositories in a directory, with git's own server.
// https://git-scm.com/docs/git-http-backend
func Git(tb testing.TB, root string) http.Handler {
	tb.Helper()

	return &cgi.Handler{
		Path:   filepath.Join(InGit(tb, root, "--exec-path"), "git-http-backend"),
		Dir:    root,
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
		Stderr: io.Discard,
	}
}

// GitCommand is what an sshd may be limited to: serving git repositories with absolute paths, to be read.
const GitCommand = `case "$SSH_ORIGINAL_COMMAND" in "git-upload-pack "*) eval "exec $SSH_ORIGINAL_COMMAND";; esac; ` +
	`echo no >&2; exit 1`
