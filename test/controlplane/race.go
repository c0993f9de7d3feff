package controlplane

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Races is an error with what the race detector has reported in the logs of the stack since it was first started,
// whatever end the processes came to; nil if there is nothing.
func (s *Stack) Races() error {
	files, err := filepath.Glob(s.log("*"))
	if err != nil {
		return errors.Wrap(err, "cannot list logs")
	}
	var errs []error
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return errors.Wrap(err, "cannot read a log")
		}
		if i := strings.Index(string(b), "WARNING: DATA RACE"); i >= 0 {
			// The first says enough.
			errs = append(errs, errors.Errorf("the race detector reported, in %s:\n%s", f, b[i:min(len(b), i+16<<10)]))
		}
	}
	return errors.Join(errs...)
}
