package galaxy

import (
	"context"
	_ "embed" // For the script.
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

//go:embed archive.py
var archiveScript []byte

// unpack the archive of a project where a repository would be cloned to, and return its SHA-256. A Python with
// Ansible's modules does it, confined like ansible-galaxy: what ansible-galaxy knows of proxies, passwords and
// authorities counts.
func (in *installation) unpack(ctx context.Context, p *requirements.Project) (digest string, err error) {
	galaxy, err := environ.LookPath(in.Environ, "ansible-galaxy")
	if err != nil {
		return "", err
	}

	argv, err := sandbox.Interpreter(galaxy)
	if err != nil {
		return "", err
	}

	if err := os.Mkdir(in.w.repository(), 0o700); err != nil {
		return "", errors.Wrap(err, "cannot make a temporary directory")
	}

	// A URL may have a password, and other processes can see arguments.
	args, err := json.Marshal([]string{p.Src, filepath.Join(in.w.Temp(), "archive"), in.w.repository()})
	if err != nil {
		return "", errors.Wrap(err, "cannot say what to download")
	}

	script, file := filepath.Join(in.w.Private, "archive.py"), filepath.Join(in.w.Private, "archive.json")
	for name, text := range map[string][]byte{script: archiveScript, file: args} {
		if err := workdir.WriteFile(name, text); err != nil {
			return "", errors.Wrap(err, "cannot write what downloads an archive")
		}
	}

	out, err := in.run(ctx, project, in.w.Home(), append(argv, script, file)...)
	if err != nil {
		return "", err
	}

	// Python may have had warnings before.
	said := strings.TrimSpace(out)

	return "sha256:" + said[strings.LastIndexByte(said, '\n')+1:], nil
}

// inside is the directory that has all files of an unpacked archive: archives of git hosts have them in one, which is
// named by the version.
func inside(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", errors.Wrap(err, "cannot read a project")
	}

	if len(entries) == 1 && entries[0].IsDir() {
		dir = filepath.Join(dir, entries[0].Name())
	}

	return dir, nil
}
