// Command licenses collects the licences of all that a Go program is made of:
// of the language, of this project, and of each module that is linked in.
//
//	licenses PROGRAM DIRECTORY
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: licenses PROGRAM DIRECTORY")
		os.Exit(2)
	}

	if err := collect(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// collect the licences of the program below the directory, which is replaced: this
// project's at its top,
// each module's in a directory that is named as the module is. A module without a
// licence is an error.
func collect(program, to string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("cannot read what %q is made of: %w", program, err)
	}

	if err := os.RemoveAll(to); err != nil {
		return err
	}

	if err := copyFile("LICENSE", filepath.Join(to, "LICENSE")); err != nil {
		return err
	}

	if err := copyFile(filepath.Join(runtime.GOROOT(), "LICENSE"), filepath.Join(to, "go", "LICENSE")); err != nil { //nolint:staticcheck // It is run by `go run`, of the very toolchain that built the program.
		return err
	}

	dirs, err := directories(info.Deps)
	if err != nil {
		return err
	}

	for _, m := range info.Deps {
		n, err := copyLicences(dirs[m.Path], filepath.Join(to, m.Path))
		if err != nil {
			return err
		}

		if n == 0 {
			return fmt.Errorf("%s %s has no licence", m.Path, m.Version)
		}
	}

	return nil
}

// directories of the sources of modules, by their path.
func directories(modules []*debug.Module) (map[string]string, error) {
	args := []string{"list", "-m", "-json"}
	for _, m := range modules {
		args = append(args, m.Path)
	}

	out, err := exec.Command("go", args...).Output() //nolint:noctx // It ends by itself.
	if err != nil {
		return nil, fmt.Errorf("cannot find the sources of modules: %w", err)
	}

	dirs := map[string]string{}

	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		m := struct {
			Path string `json:"Path"`
			Dir  string `json:"Dir"`
		}{}
		if err := d.Decode(&m); err != nil {
			return nil, err
		}

		dirs[m.Path] = m.Dir
	}

	return dirs, nil
}

// copyLicences of a module, and of what it has taken from others. It returns how
// many there are at the top.
func copyLicences(from, to string) (int, error) {
	isLicence := regexp.MustCompile(`^(?i)(LICEN[CS]E|COPYING|NOTICE|PATENTS|AUTHORS)([-._].*)?$`).MatchString
	top := 0

	err := fs.WalkDir(os.DirFS(from), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "testdata":
			return fs.SkipDir
		case !e.Type().IsRegular() || !isLicence(e.Name()) || filepath.Ext(path) == ".go":
			return nil
		case !strings.Contains(path, "/"):
			top++
		}

		return copyFile(filepath.Join(from, path), filepath.Join(to, path))
	})

	return top, err
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // All users of the image may read it.
		return err
	}

	return os.WriteFile(to, b, 0o644) //nolint:gosec // The same.
}
