package common

import "regexp"

// archive is the pattern with which the CRD recognizes the URL of an archive.
var archive = regexp.MustCompile(`^(https?|file)://[^?#]*[.](tar([.][a-z0-9]+)?|tgz|tbz2?|txz|zip)([?#].*)?$`)

// IsArchive is true for a project with an archive as its source, and false for one with a git repository.
func (p *Project) IsArchive() bool { return archive.MatchString(p.Src) }
