package common

import "regexp"

// archive is what the CRD takes for the URL of an archive.
var archive = regexp.MustCompile(`^(https?|file)://[^?#]*[.](tar([.][a-z0-9]+)?|tgz|tbz2?|txz|zip)([?#].*)?$`)

// IsArchive is true for a project with an archive as its source, and no git repository.
func (p *Project) IsArchive() bool { return archive.MatchString(p.Src) }
