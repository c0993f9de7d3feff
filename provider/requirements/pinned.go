package requirements

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	versionPattern = `v?[0-9]+(\.[0-9]+)+([-+.][0-9A-Za-z.+-]+)?`
	archivePattern = `\.(tar(\.[a-z0-9]+)?|tgz|tbz2?|txz|zip)$`
)

var (
	collectionName   = regexp.MustCompile(`^\w+\.\w+$`)
	exactVersion     = regexp.MustCompile(`^` + versionPattern + `$`)
	commitHash       = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	archive          = regexp.MustCompile(archivePattern)
	versionedArchive = regexp.MustCompile(`(^|[-_])` + versionPattern + archivePattern)
)

// Pinned is true when installing again would install the same, as far as can be
// told from what is required: an exact version, a commit, a tag that looks like
// a version, or an archive with a version in its file name. What the requirements
// depend on in turn is not looked at.
func (f File) Pinned() bool {
	return !slices.ContainsFunc(f.Collections, func(c Collection) bool { return !c.pinned() }) &&
		!slices.ContainsFunc(f.Roles, func(r Role) bool { return !r.pinned() }) && (f.Project == nil || f.Project.pinned())
}

func (c Collection) pinned() bool {
	switch c.kind() {
	case Git:
		return isFixed(c.Version)
	case "url", "file":
		return namesVersion(c.location())
	case "dir", "subdirs":
		return false
	}

	return exactVersion.MatchString(strings.TrimSpace(strings.TrimLeft(c.Version, "=")))
}

// kind of the source, as ansible-galaxy finds it out where the type is not
// given. It looks for a directory before it takes something for a path; what is
// not an archive by its name is none.
// Source: Requirement.from_requirement_dict of ansible-core.
func (c Collection) kind() string {
	switch name := c.Name; {
	case c.Type != "":
		return c.Type
	case collectionName.MatchString(name):
		return Galaxy
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return "url"
	case isArchive(name):
		return "file"
	}

	return "dir"
}

// location that is not a Galaxy server.
func (c Collection) location() string {
	return cmp.Or(c.Source, c.Name)
}

func (r Role) pinned() bool {
	if r.Scm == "" && (strings.Contains(r.Src, "://") || isArchive(r.Src)) {
		return namesVersion(r.Src)
	}

	return isFixed(r.Version)
}

// isFixed is true for exact versions, and for the hash of a commit, in full or abbreviated as git does. A tag such as
// v1 moves by custom, from one version to the next that starts with it.
func isFixed(version string) bool {
	return exactVersion.MatchString(version) || commitHash.MatchString(version)
}

func isArchive(s string) bool {
	return archive.MatchString(fileName(s))
}

// namesVersion is true for archives with an exact version in their file name, such as acme-tools-1.2.3.tar.gz, and
// false for archives that Git hosts make of branches, which may have names like versions, too.
func namesVersion(s string) bool {
	return versionedArchive.MatchString(fileName(s)) && !strings.Contains(s, "/refs/heads/")
}

// fileName in a path or a URL.
func fileName(s string) string {
	if u, err := url.Parse(s); err == nil && u.Scheme != "" {
		s = u.Path
	}

	return path.Base(s)
}
