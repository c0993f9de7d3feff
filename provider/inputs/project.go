package inputs

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// IsProjectPlaybook is true for a playbook of a project. Any other is one of a collection.
func IsProjectPlaybook(name string) bool {
	return strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml")
}

// validateProject repeats the rules of the CRD: git gets its fields as arguments.
func validateProject(p *common.Project, at *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}

	var errs field.ErrorList

	if err := validateRepository(p.Src); err != nil {
		errs = append(errs, field.Invalid(at.Child("src"), p.Src, err.Error()))
	}

	switch v := p.Version; {
	case p.IsArchive() && (v != "" || p.Submodules):
		errs = append(errs,
			field.Forbidden(at.Child("version"),
				"an archive has neither version nor submodules: its URL says which one is meant"))
	case strings.HasPrefix(v, "+"), isOption(v):
		errs = append(errs, field.Invalid(at.Child("version"), v, "must not start with a dash or a plus"))
	case !isPrintable(v), strings.ContainsAny(v, " :~^?*[\\"), strings.Contains(v, ".."), strings.Contains(v, "@{"):
		errs = append(errs, field.Invalid(at.Child("version"), v, "must be a tag, a branch or a commit"))
	}

	if p.Path == "" {
		return errs
	}

	if err := validatePath(p.Path); err != nil {
		errs = append(errs, field.Invalid(at.Child("path"), p.Path, err.Error()))
	}

	return errs
}

// validateRepository reports what git would take for an option, for the name of a program, or for a directory
// of this machine.
// https://git-scm.com/docs/git-clone#_git_urls
func validateRepository(src string) error {
	src = strings.TrimPrefix(src, "git+")
	scheme, rest, isURL := strings.Cut(src, "://")
	host, repository, isSSH := strings.Cut(src, ":")
	user, _, named := strings.Cut(host, "@")

	switch {
	case !isPrintable(src), strings.Contains(src, " "):
		return errors.New("must be printable, without spaces")
	case isURL && slices.Contains([]string{"https", "http", "ssh", "file"}, scheme) && rest != "" && !isOption(rest):
		return nil
	case !isURL && isSSH && named && !strings.Contains(host, "/") && !isOption(user) &&
		repository != "" && !strings.HasPrefix(repository, ":") && !isOption(repository):
		return nil
	}

	return errors.New("must be the URL of a git repository: https://, ssh:// or user@host:path")
}

// validatePath reports a path that may lead elsewhere than below a directory.
func validatePath(name string) error {
	switch {
	case !isPrintable(name):
		return errors.New("must be printable")
	case isOption(name):
		return errors.New("must not start with a dash")
	case path.IsAbs(name), path.Clean(name) != name, name == ".", name == "..", strings.HasPrefix(name, "../"):
		return errors.New("must be a path without . and .. below the directory")
	}

	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return errors.New("must not be in .git")
		}
	}

	return nil
}

// validatePlaybookPath reports what Ansible would not take for one path: it reads a playbook that is imported as a
// template, and splits it like words of a shell.
func validatePlaybookPath(name string) error {
	if strings.ContainsAny(name, " '\"{}\\=#") {
		return errors.New("must not contain spaces, quotes, braces, backslashes, = or #")
	}

	return validatePath(name)
}

// validateProjectInventories reports inventories of a project that is not there, or that are outside of it.
func validateProjectInventories(in Inputs, at *field.Path) field.ErrorList {
	var errs field.ErrorList

	for i, inv := range in.Parameters.Inventories {
		item := at.Child("inventories").Index(i)

		switch {
		case inv.Source != common.FileSourceProject && inv.Path != "":
			errs = append(errs, field.Forbidden(item.Child("path"), "only with source Project"))
		case inv.Source != common.FileSourceProject:
			continue
		case in.Parameters.Project == nil:
			errs = append(errs, field.Forbidden(item.Child("source"), "Project needs project"))
		case inv.Path == "":
			errs = append(errs, field.Required(item.Child("path"), "must be set with source Project"))
		}

		if inv.Path == "" {
			continue
		}

		if err := validatePath(inv.Path); err != nil {
			errs = append(errs, field.Invalid(item.Child("path"), inv.Path, err.Error()))
		}
	}

	return errs
}
