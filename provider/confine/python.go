package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Programs returns what has to be read so that a script can run: the script's
// interpreter, where that has its modules, and the directories of a PATH. The
// environment is that of the script.
func Programs(ctx context.Context, script string, env []string) ([]string, error) {
	paths := []string{script}

	for _, kv := range env {
		if dirs, ok := strings.CutPrefix(kv, "PATH="); ok {
			paths = append(paths, strings.Split(dirs, ":")...)
		}
	}

	head, err := os.ReadFile(script)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the program")
	}

	line, _, _ := bytes.Cut(head, []byte("\n"))

	interpreter, ok := strings.CutPrefix(string(line), "#!")
	if !ok || !strings.Contains(interpreter, "python") {
		return resolved(paths), nil
	}

	argv := append(strings.Fields(interpreter), "-c", "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.executable] + sys.path))")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Dir = "/"

	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Wrapf(err, "cannot ask %q where its modules are", argv[0])
	}

	var modules []string
	if err := json.Unmarshal(out, &modules); err != nil {
		return nil, errors.Wrapf(err, "cannot read where %q has its modules", argv[0])
	}

	// A Python that is the whole machine's says so by the root.
	modules = slices.DeleteFunc(modules, func(p string) bool { return p == "/" })

	return resolved(append(paths, modules...)), nil
}
