package config

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A MissingError names references to objects in the API server, or to keys of them, that do not exist. Watches of these
// objects wake the AnsibleRun when they are created. Each item has the field path, the object, and the key.
type MissingError []string

// Error joins all missing references.
func (e MissingError) Error() string { return strings.Join(e, "; ") }

// IsMissing is true for errors that are or wrap a MissingError.
func IsMissing(err error) bool {
	return errors.As(err, new(MissingError))
}

// missing returns the MissingError of one reference.
func missing(format string, args ...any) error {
	return MissingError{fmt.Sprintf(format, args...)}
}
