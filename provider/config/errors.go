package config

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A MissingError names references to objects of the API server, or to keys of them, that do not exist, yet or any more.
// A watch tells when they do.
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
	return errors.As(err, new(*MissingError))
}

// missing is the MissingError of one reference to an object.
func missing(format string, args ...any) error {
	return &MissingError{Missing: []string{fmt.Sprintf(format, args...)}}
}

// add the references of an error that is a MissingError, so that one error names all. Any
// other error is returned. The context comes first in both.
func (e *MissingError) add(err error, context string) error {
	var m *MissingError
	if !errors.As(err, &m) {
		return errors.Wrap(err, context)
	}

	for _, s := range m.Missing {
		e.Missing = append(e.Missing, context+": "+s)
	}

	return nil
}

// orNil is the error, or nil if nothing is missing.
func (e *MissingError) orNil() error {
	if len(e.Missing) == 0 {
		return nil
	}

	return e
}
