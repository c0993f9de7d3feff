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

// Pinned is true when a new installation would give the same content, judged by the requirements: they are exact
// versions, commits, tags that look like versions, or archives with a version in the name of the file. Dependencies of
// the requirements are not considered.
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

// kind returns the type of the source. ansible-galaxy derives a missing type in the same way, except that it also looks
// whether a directory exists: here, a path that is not named like an archive is a directory. Source:
// Requirement.from_requirement_dict of ansible-core.
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

// location returns the source of a collection that does not come from a Galaxy server.
func (c Collection) location() string {
	return cmp.Or(c.Source, c.Name)
}

func (r Role) pinned() bool {
	if r.Scm == "" && (strings.Contains(r.Src, "://") || isArchive(r.Src)) {
		return namesVersion(r.Src)
	}

	return isFixed(r.Version)
}

// isFixed is true for an exact version, and for the hash of a commit, in full or abbreviated as git does. A tag such as
// v1 is not fixed: by custom it moves to each next version that starts with it.
func isFixed(version string) bool {
	return exactVersion.MatchString(version) || commitHash.MatchString(version)
}

func isArchive(s string) bool {
	return archive.MatchString(fileName(s))
}

// namesVersion is true for an archive with an exact version in the name of its file, such as acme-tools-1.2.3.tar.gz.
// It is false for archives that git hosts make of branches, since a branch may be named like a version.
func namesVersion(s string) bool {
	return versionedArchive.MatchString(fileName(s)) && !strings.Contains(s, "/refs/heads/")
}

// fileName returns the name of the file in a path or a URL.
func fileName(s string) string {
	if u, err := url.Parse(s); err == nil && u.Scheme != "" {
		s = u.Path
	}

	return path.Base(s)
}
