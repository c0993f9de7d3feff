package requirements

import (
	"regexp"
	"slices"
	"strings"
)

// Types of sources.
const (
	// Git is the type of a source that is a git repository, and its scm.
	Git = "git"
	// Galaxy is the type of a source that is a Galaxy server.
	Galaxy = "galaxy"
)

// OverSSH is true when git needs ssh for a requirement, or may need it: the requirements of requirements are not known
// yet.
func (f File) OverSSH() bool {
	return f.Project != nil || // The requirements of a project are not known, either.
		slices.ContainsFunc(f.Collections, func(c Collection) bool { return c.Type == Git && isSSH(c.location()) }) ||
		slices.ContainsFunc(f.Roles, func(r Role) bool { return r.Scm == Git && isSSH(r.Src) })
}

var scpLike = regexp.MustCompile(`^[^/:\s]+@?[^/:\s]*:`)

// isSSH is true for a location that git reaches through ssh: a URL, or host:path without a slash before the colon.
// https://git-scm.com/docs/git-clone#_git_urls
func isSSH(url string) bool {
	if scheme, _, ok := strings.Cut(url, "://"); ok {
		return slices.Contains([]string{"ssh", "git+ssh", "ssh+git"}, scheme)
	}

	return scpLike.MatchString(url)
}

// isRepository is true for a source that can only be a git repository. Without a type or scm, ansible-galaxy takes it
// for an archive or for a name on Galaxy.
func isRepository(src string) bool {
	src, _, _ = strings.Cut(src, "#")
	src, _, _ = strings.Cut(src, ",")

	if strings.Contains(src, "+") {
		return false
	}

	return strings.HasSuffix(src, ".git") && strings.Contains(src, "://") || strings.HasPrefix(src, "ssh://") ||
		strings.Contains(src, "@") && isSSH(src)
}

var (
	// passwordInURL matches passwords and tokens: over http, also a user that is too long for a name, and parameters.
	passwordInURL = regexp.MustCompile(`(?i)://[^/\s]*(:|%3a)[^/\s]*@|https?://[^/\s:@]{16,}@` +
		`|^[^/\s:@]+:[^/\s@]+@[^/\s:]+:|[?&][^=&\s]*(token|password|secret|api_?key)=`)
	// userOfURL matches a user without a password only over http, where it may be a token.
	userOfURL = regexp.MustCompile(`(?i)(https?://)[^/\s]*@|(://)[^/\s]*(?::|%3a)[^/\s]*@` +
		`|([?&][^=&\s]*(?:token|password|secret|api_?key)=)[^&\s#:]*`)
)

// WithoutUser removes possible passwords and tokens from the URLs in a text.
func WithoutUser(text string) string {
	return userOfURL.ReplaceAllString(text, "$1$2$3")
}

// Local is true if a requirement is a file or a directory of this machine, which may change at any time.
func (f File) Local() bool {
	return f.Project != nil && isLocal(f.Project.Src) ||
		slices.ContainsFunc(f.Collections, func(c Collection) bool {
			return c.isPath() || isLocal(c.location())
		}) ||
		slices.ContainsFunc(f.Roles, func(r Role) bool { return isLocal(r.Src) })
}

func isLocal(src string) bool {
	src = strings.TrimPrefix(src, "git+")

	return strings.HasPrefix(src, "file://") || strings.HasPrefix(src, "/") || strings.HasPrefix(src, ".")
}
