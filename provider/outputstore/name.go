package outputstore

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// hashed is how many characters of a digest stand for the end of a long name.
const hashed = 10

// nameOf is that of the ConfigMap for an AnsibleRun of a group: its own name and a suffix
// that tells the groups apart, site.output.ansible.m.crossplane.io. The end of a
// name that would be too long with it is replaced.
func nameOf(group, name string) string {
	suffix := ".output." + group

	room := validation.DNS1123SubdomainMaxLength - len(suffix)
	if len(name) <= room {
		return name + suffix
	}

	sum := sha256.Sum256([]byte(name))
	start := strings.TrimRight(name[:room-hashed-1], "-.")

	return start + "-" + hex.EncodeToString(sum[:])[:hashed] + suffix
}
