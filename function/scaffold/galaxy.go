package scaffold

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"
)

// Install what the requirements in a file bring for a role, below a directory.
// It returns the role's directory.
func Install(ctx context.Context, role, requirements, dir string) (string, error) {
	galaxy, err := exec.LookPath("ansible-galaxy")
	if err != nil {
		return "", errors.New(
			"cannot find ansible-galaxy on the PATH; install ansible-core, or give the directory of the role")
	}

	parts := strings.Split(role, ".")

	kind, found := "role", filepath.Join(dir, role)
	if len(parts) > 2 {
		kind, found = "collection", filepath.Join(dir, "ansible_collections", parts[0], parts[1], "roles",
			filepath.Join(parts[2:]...))
	}

	cmd := exec.CommandContext(ctx, galaxy, kind, "install", "-r", requirements, "-p", dir)
	// What is installed elsewhere already is to be in the directory, too.
	cmd.Env = append(os.Environ(), "ANSIBLE_COLLECTIONS_PATH="+dir, "ANSIBLE_ROLES_PATH="+dir)

	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Wrapf(err, "cannot install the requirements: %s", strings.TrimSpace(string(out)))
	}

	if _, err := os.Stat(found); err != nil {
		return "", errors.Errorf("the requirements do not bring the role %s", role)
	}

	return found, nil
}
