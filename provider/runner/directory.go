package runner

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// Names in a private data directory. ansible-runner defines the first two.
// https://docs.ansible.com/projects/runner/en/stable/intro/#inputdir
const (
	projectDir   = "project"
	inventoryDir = "inventory"
	varsDir      = "vars"
	homeDir      = "home"
	tempDir      = "tmp"
	// controlDir holds ssh's sockets, which must have short paths.
	controlDir   = "cp"
	driverFile   = "driver.py"
	playbookFile = "playbook.yml"

	modeExecutable fs.FileMode = 0o700
	modeDir        fs.FileMode = 0o700
)

// A file of a private data directory.
type file struct {
	// Path in the private data directory.
	Path string
	// Data of the file.
	Data []byte
	// Executable is true for a program.
	Executable bool
	// Given is true for a file or a directory that the project already contains. It is not written.
	Given bool
}

// makeDirectory makes a private data directory with a copy of the project, if any, and with the files. It fails if the
// directory exists: ansible-runner would use files of another run.
func makeDirectory(dir, project string, files []file) error {
	for _, d := range []string{"", homeDir, tempDir, controlDir} {
		if err := os.Mkdir(filepath.Join(dir, d), modeDir); err != nil {
			return errors.Wrap(err, "cannot make a private data directory")
		}
	}

	if project != "" {
		if err := copyProject(project, filepath.Join(dir, projectDir)); err != nil {
			return err
		}
	}

	for _, f := range files {
		if f.Given {
			continue
		}

		name := filepath.Join(dir, f.Path)

		// The project may have a file, or a link, of that name.
		err := os.MkdirAll(filepath.Dir(name), modeDir)
		if err == nil {
			err = workdir.WriteFile(name, f.Data)
		}

		if err == nil && f.Executable {
			err = os.Chmod(name, modeExecutable)
		}

		if err != nil {
			return errors.Wrap(err, "cannot write into the private data directory")
		}
	}

	return nil
}
