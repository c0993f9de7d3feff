// Package document knows documents that nobody should parse.
package document

import (
	"bytes"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// maxTags is how many directives for tags a document may have. The parser compares
// each with all others; hardly any document has one.
const maxTags = 100

// Check reports what makes the parser of YAML take minutes for a megabyte.
func Check(text []byte) error {
	if n := bytes.Count(text, []byte("%TAG")); n > maxTags {
		return errors.Errorf("has %d %%TAG directives; at most %d are read", n, maxTags)
	}

	return nil
}
