package config

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A MissingError names references to objects of the API server, or to keys of them, that do not exist, yet or any more.
// A watch tells when they do.
// Each has a sentence: field path, object, and key.
type MissingError []string

// Error names all missing references.
func (e MissingError) Error() string { return strings.Join(e, "; ") }

// IsMissing is true for errors that are a MissingError, or wrap one.
func IsMissing(err error) bool {
	return errors.As(err, new(MissingError))
}

// missing is the MissingError of one reference to an object.
func missing(format string, args ...any) error {
	return MissingError{fmt.Sprintf(format, args...)}
}
