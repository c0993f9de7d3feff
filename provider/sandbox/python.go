package sandbox

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

// Programs returns the paths that a Python script has to read in order to run: the script, its interpreter, the
// directories of the interpreter's modules, and those in the PATH of the script's environment.
func Programs(ctx context.Context, script string, env []string) ([]string, error) {
	paths := []string{script}

	for _, kv := range env {
		if dirs, ok := strings.CutPrefix(kv, "PATH="); ok {
			paths = append(paths, strings.Split(dirs, ":")...)
		}
	}

	interpreter, err := Interpreter(script)
	if err != nil {
		return nil, err
	}

	argv := slices.Concat(interpreter,
		[]string{"-c", "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.executable] + sys.path))"})
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Dir = "/"

	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot ask %q for the paths of its modules: %w", argv[0], err)
	}

	var modules []string
	if err := json.Unmarshal(out, &modules); err != nil {
		return nil, fmt.Errorf("cannot decode the paths of the modules of %q: %w", argv[0], err)
	}

	// A Python with the prefix / must not make the whole machine readable.
	modules = slices.DeleteFunc(modules, func(p string) bool { return p == "/" })

	return resolved(append(paths, modules...)), nil
}

// Interpreter returns the argv of the Python interpreter of a script.
func Interpreter(script string) ([]string, error) {
	head, err := os.ReadFile(script)
	if err != nil {
		return nil, fmt.Errorf("cannot read the program: %w", err)
	}

	line, _, _ := bytes.Cut(head, []byte("\n"))

	interpreter, ok := strings.CutPrefix(string(line), "#!")
	if !ok || !strings.Contains(interpreter, "python") {
		return nil, fmt.Errorf("cannot find the interpreter of %q: it is not a Python script", script)
	}

	return strings.Fields(interpreter), nil
}
