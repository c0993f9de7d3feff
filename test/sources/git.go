package sources

import (
	"context"
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // This Go is newer than the one it warns of.
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Git serves the git repositories in a directory, with git's own server.
// https://git-scm.com/docs/git-http-backend
func Git(ctx context.Context, root string) (http.Handler, error) {
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, errors.Wrap(err, "cannot ask git where its programs are")
	}

	return &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Dir:    root,
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
		Stderr: io.Discard,
	}, nil
}

// GitCommand is what an sshd may be limited to: serving git repositories with absolute paths, to be read.
const GitCommand = `case "$SSH_ORIGINAL_COMMAND" in "git-upload-pack "*) eval "exec $SSH_ORIGINAL_COMMAND";; esac; ` +
	`echo no >&2; exit 1`
