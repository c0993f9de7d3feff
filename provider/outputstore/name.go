package outputstore

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// digestLength is how many characters of a digest replace the end of a long name.
const digestLength = 10

// nameOf returns the name of the ConfigMap for an AnsibleRun of a group: its own name and a suffix with the group, as
// in site.output.ansible.m.crossplane.io. If it is too long, a digest replaces the end of the AnsibleRun's name.
func nameOf(group, name string) string {
	suffix := ".output." + group

	room := validation.DNS1123SubdomainMaxLength - len(suffix)
	if len(name) <= room {
		return name + suffix
	}

	sum := sha256.Sum256([]byte(name))
	start := strings.TrimRight(name[:room-digestLength-1], "-.")

	return start + "-" + hex.EncodeToString(sum[:])[:digestLength] + suffix
}
