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

	// Host is true when one of them leads to the provider's own machine, which
	// nobody watches.
	Host bool
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

// IsWatched is true for errors that are a MissingError, or wrap one, of which
// whoever watches is told the end: all that is missing are objects.
func IsWatched(err error) bool {
	var m *MissingError

	return errors.As(err, &m) && !m.Host
}

// missing is the MissingError of one reference.
func missing(format string, args ...any) error {
	return &MissingError{Missing: []string{errors.Errorf(format, args...).Error()}}
}

// missingHost is the MissingError of one reference to the provider's own machine.
func missingHost(format string, args ...any) error {
	return &MissingError{Missing: []string{errors.Errorf(format, args...).Error()}, Host: true}
}

// A gathering of missing references, so that one error names them all.
type gathering struct {
	missing []string
	host    bool
}

// add returns errors that are no missing reference; nil for none. It puts the context before
// all of them.
func (g *gathering) add(err error, context string) error {
	var m *MissingError
	if !errors.As(err, &m) {
		return errors.Wrap(err, context)
	}

	g.host = g.host || m.Host

	for _, s := range m.Missing {
		g.missing = append(g.missing, context+": "+s)
	}

	return nil
}

func (g *gathering) err() error {
	if len(g.missing) == 0 {
		return nil
	}

	return &MissingError{Missing: g.missing, Host: g.host}
}
