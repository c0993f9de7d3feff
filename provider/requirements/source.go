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

// OverSSH is true when git is to use ssh for something that is required, or may have to. What
// the requirements depend on in turn is not known yet.
func (f File) OverSSH() bool {
	return f.Project != nil || // Its requirements are not known, either.
		slices.ContainsFunc(f.Collections, func(c Collection) bool { return c.Type == Git && isSSH(c.location()) }) ||
		slices.ContainsFunc(f.Roles, func(r Role) bool { return r.Scm == Git && isSSH(r.Src) })
}

var scpLike = regexp.MustCompile(`^[^/:\s]+@?[^/:\s]*:`)

// isSSH is true for what git takes for a location that ssh leads to: a URL, or
// host:path with no slash before the colon.
// https://git-scm.com/docs/git-clone#_git_urls
func isSSH(url string) bool {
	if scheme, _, ok := strings.Cut(url, "://"); ok {
		return slices.Contains([]string{"ssh", "git+ssh", "ssh+git"}, scheme)
	}

	return scpLike.MatchString(url)
}

// isRepository is true for what can be nothing but a git repository. Without
// being told, ansible-galaxy takes it for an archive or for a name on Galaxy.
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
	// passwordInURL matches tokens, too: over http, what is too long to be the name of a user, and parameters.
	passwordInURL = regexp.MustCompile(`(?i)://[^/\s]*(:|%3a)[^/\s]*@|https?://[^/\s:@]{16,}@` +
		`|^[^/\s:@]+:[^/\s@]+@[^/\s:]+:|[?&][^=&\s]*(token|password|secret|api_?key)=`)
	// userOfURL matches a user without a password only over http, where it may be a token.
	userOfURL = regexp.MustCompile(`(?i)(https?://)[^/\s]*@|(://)[^/\s]*(?::|%3a)[^/\s]*@` +
		`|([?&][^=&\s]*(?:token|password|secret|api_?key)=)[^&\s#:]*`)
)

// WithoutUser leaves the URLs in a text without what may be a password or a token, for all to read.
func WithoutUser(text string) string {
	return userOfURL.ReplaceAllString(text, "$1$2$3")
}

// Local is true if something is required that is on this machine, where it may change at any time.
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
