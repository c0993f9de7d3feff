package content

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// git is the type of a source and its version control.
	git = "git"
	// galaxy is the type of a source that is a Galaxy server.
	galaxy = "galaxy"
)

// repository returns the URL that the collection is cloned from; empty when it comes
// another way.
// Source: Requirement.from_requirement_dict and parse_scm of ansible-core.
func (c Collection) repository() string {
	src := c.Name

	switch {
	case c.Type == git:
		src = cmp.Or(c.Source, c.Name)
	case c.Type != "" || !strings.HasPrefix(src, "git+") && !strings.HasPrefix(src, "git@"):
		return ""
	}

	src, _, _ = strings.Cut(strings.TrimPrefix(src, "git+"), ",")

	return src
}

// repository returns the URL that the role is cloned from; empty when it comes another
// way.
func (r Role) repository() string {
	if r.Scm != git {
		return ""
	}

	return r.Src
}

// repositories are the URLs of all git repositories that are required.
func (r Requirements) repositories() []string {
	var urls []string
	for _, c := range r.Collections {
		urls = append(urls, c.repository())
	}

	for _, o := range r.Roles {
		urls = append(urls, o.repository())
	}

	return slices.DeleteFunc(urls, func(s string) bool { return s == "" })
}

// overSSH is true when git is to use ssh for something that is required. What
// the requirements depend on in turn is not known yet.
func (r Requirements) overSSH() bool {
	return slices.ContainsFunc(r.repositories(), isSSH)
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

var userOfURL = regexp.MustCompile(`(https?://)[^/\s]*@`)

// withoutUser leaves a URL without what may be a password or a token, for all
// to read.
func withoutUser(url string) string {
	return userOfURL.ReplaceAllString(url, "$1")
}

// withoutUsers leaves out of URLs what may be passwords or tokens.
func (r Requirements) withoutUsers() Requirements {
	clean := Requirements{Collections: slices.Clone(r.Collections), Roles: slices.Clone(r.Roles)}

	for i, c := range clean.Collections {
		clean.Collections[i].Name, clean.Collections[i].Source = withoutUser(c.Name), withoutUser(c.Source)
	}

	for i, o := range clean.Roles {
		clean.Roles[i].Src = withoutUser(o.Src)
	}

	return clean
}

var passwordOfURL = regexp.MustCompile(`^(https?://)([^/\s]*:[^/\s]*|[^/\s:@]{16,})@([^/\s]+)`)

// withoutPasswords moves the passwords of git repositories from their URLs to
// lines of a file .git-credentials: URLs are arguments of git, which every
// process can see. What is too long to be the name of a user is a token, which
// has no password. The error names a host with several passwords.
func (r Requirements) withoutPasswords() (Requirements, []string, error) {
	var lines []string

	of := map[string]string{}
	move := func(src, url string) (string, error) {
		m := passwordOfURL.FindStringSubmatch(url)
		if m == nil {
			return src, nil
		}

		scheme, user, host := m[1], m[2], m[3]
		src = strings.Replace(src, user+"@", "", 1)

		if !strings.Contains(user, ":") {
			user += ":"
		}

		if other, ok := of[scheme+host]; ok && other != user {
			return "", errors.Errorf("several passwords for %s%s: one user must have access to all that is required from there", scheme, host)
		}

		if of[scheme+host] == "" {
			of[scheme+host] = user
			lines = append(lines, scheme+strings.ReplaceAll(user, "@", "%40")+"@"+host)
		}

		return src, nil
	}

	clean := Requirements{Collections: slices.Clone(r.Collections), Roles: slices.Clone(r.Roles)}

	var err error

	for i, c := range clean.Collections {
		field := &clean.Collections[i].Name
		if c.Type == git && c.Source != "" {
			field = &clean.Collections[i].Source
		}

		if *field, err = move(*field, c.repository()); err != nil {
			return Requirements{}, nil, err
		}
	}

	for i, o := range clean.Roles {
		if clean.Roles[i].Src, err = move(o.Src, o.repository()); err != nil {
			return Requirements{}, nil, err
		}
	}

	return clean, lines, nil
}
