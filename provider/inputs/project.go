package inputs

import (
	"path"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// IsProjectPlaybook is true for a playbook of a project. Any other is one of a collection.
func IsProjectPlaybook(name string) bool {
	return strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml")
}

// validatePlaybookPath reports a path that may lead elsewhere than below the project, and what Ansible would not take
// for one path: it reads a playbook that is imported as a template, and splits it like words of a shell.
func validatePlaybookPath(name string) error {
	switch {
	case strings.ContainsAny(name, " '\"{}\\=#"):
		return errors.New("must not contain spaces, quotes, braces, backslashes, = or #")
	case !isPrintable(name):
		return errors.New("must be printable")
	case strings.HasPrefix(name, "-"):
		return errors.New("must not start with a dash")
	case path.IsAbs(name), path.Clean(name) != name, strings.HasPrefix(name, "../"):
		return errors.New("must be a path without . and .. below the directory")
	}

	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return errors.New("must not be in .git")
		}
	}

	return nil
}
