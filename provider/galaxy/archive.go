package galaxy

import (
	"context"
	_ "embed" // For the script.
	"path/filepath"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

//go:embed archive.py
var archiveScript string

// unpack the archive of a project where a repository would be cloned to, and return its SHA-256. A Python with
// Ansible's modules does it, confined like ansible-galaxy: what ansible-galaxy knows of proxies, passwords and
// authorities counts. It is isolated, so that no credential is a module for it.
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

	// Python may have had warnings before.
	said := strings.TrimSpace(out)

	return "sha256:" + said[strings.LastIndexByte(said, '\n')+1:], nil
}
