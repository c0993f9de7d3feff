package controlplane

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Races is an error with all that the race detector has reported of the function
// and of the provider since the stack was first started, whatever end their
// processes came to; nil if there is nothing. Reports stay with the logs.
func (s *Stack) Races() error {
	files, err := s.reports()
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return errors.Wrap(err, "cannot read what the race detector reported")
		}
		// The first say enough.
		errs = append(errs, errors.Errorf("the race detector reported, in %s:\n%s", f, b[:min(len(b), 16<<10)]))
	}
	return errors.Join(errs...)
}

// reports are the files that the race detector makes: one for each process that
// it finds races in, with its id at the end.
func (s *Stack) reports() ([]string, error) {
	names, err := fs.Glob(os.DirFS(s.opts.Logs), "*.race.*")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list what the race detector reported")
	}
	for i, n := range names {
		names[i] = filepath.Join(s.opts.Logs, n)
	}
	return names, nil
}

// detector is the environment that the race detector takes its options from. By
// default it waits a second before a process ends.
// https://go.dev/doc/articles/race_detector#Options
func (s *Stack) detector(name string) string {
	return `GORACE=log_path="` + filepath.Join(s.opts.Logs, name+".race") + `" atexit_sleep_ms=0`
}
