package config

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A MissingError says which references lead to nothing. What they refer to may
// not be there yet, or not any more.
type MissingError struct {
	// Missing references, a sentence each: field path, object, and key.
	Missing []string
}

// Error names all missing references.
func (e *MissingError) Error() string {
	return strings.Join(e.Missing, "; ")
}

// IsMissing is true for errors that are a MissingError, or wrap one.
func IsMissing(err error) bool {
	var m *MissingError

	return errors.As(err, &m)
}

// missing is the MissingError of one reference.
func missing(format string, args ...any) error {
	return &MissingError{Missing: []string{errors.Errorf(format, args...).Error()}}
}

// A gathering of missing references, so that one error names them all.
type gathering struct {
	missing []string
}

// add returns errors that are no missing reference. It puts the context before
// all of them.
func (g *gathering) add(err error, context string) error {
	var m *MissingError
	if !errors.As(err, &m) {
		return errors.Wrap(err, context)
	}

	for _, s := range m.Missing {
		g.missing = append(g.missing, context+": "+s)
	}

	return nil
}

func (g *gathering) err() error {
	if len(g.missing) == 0 {
		return nil
	}

	return &MissingError{Missing: g.missing}
}
