package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
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
		return nil, fmt.Errorf("cannot read the program: %w", err)
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
		return nil, fmt.Errorf("cannot ask %q where its modules are: %w", argv[0], err)
	}

	var modules []string
	if err := json.Unmarshal(out, &modules); err != nil {
		return nil, fmt.Errorf("cannot read where %q has its modules: %w", argv[0], err)
	}

	// A Python that is the whole machine's says so by the root.
	modules = slices.DeleteFunc(modules, func(p string) bool { return p == "/" })

	return resolved(append(paths, modules...)), nil
}
