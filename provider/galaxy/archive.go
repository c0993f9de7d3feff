package galaxy

import (
	"context"
	_ "embed" // For archiveScript.
	"path/filepath"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

//go:embed archive.py
var archiveScript string

// unpack downloads and unpacks the archive of a project into the directory of the repository, and returns its SHA-256.
// The Python of ansible-galaxy does it with Ansible's modules, confined like ansible-galaxy, so that the same settings
// of proxies, passwords and authorities apply. It is isolated (-I), so that it imports no credential as a module.
func (in *installation) unpack(ctx context.Context, p *requirements.Project) (digest string, err error) {
	galaxy, err := environ.LookPath(in.Environ, "ansible-galaxy")
	if err != nil {
		return "", err
	}

	argv, err := sandbox.Interpreter(galaxy)
	if err != nil {
		return "", err
	}

	argv = append(argv, "-I", "-c", archiveScript, p.Src, filepath.Join(in.w.Temp(), "archive"), in.w.repository())

	out, err := in.run(ctx, project, in.w.Home(), argv...)
	if err != nil {
		return "", err
	}

	// Python may have printed warnings before the digest.
	said := strings.TrimSpace(out)

	return "sha256:" + said[strings.LastIndexByte(said, '\n')+1:], nil
}
