package installed

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// Verify that what was installed has the revisions that it must have. The error says
// which it has instead.
func (m Manifest) Verify(v *common.Verification) error {
	if v == nil {
		return nil
	}

	var wrong []string

	for _, c := range v.Collections {
		wrong = append(wrong, m.differs(c, m.Collections, "collections", collectionPath(c.Name))...)
	}

	for _, r := range v.Roles {
		wrong = append(wrong, m.differs(r, m.Roles, "roles", path.Join(galaxy.RolesDir, r.Name))...)
	}

	if len(wrong) == 0 {
		return nil
	}

	return errors.New(strings.Join(wrong, "; "))
}

// differs says how an item, by its path in the set, is not what it must be.
func (m Manifest) differs(want common.VerifiedContent, items []common.ContentItem, field, path string) []string {
	got := m.Tree.Items[path]

	switch got {
	case "":
		return []string{fmt.Sprintf("%q in spec.verification.%s was not installed: nothing requires it", want.Name, field)}
	case want.Revision:
		return nil
	}

	version := ""
	if i := slices.IndexFunc(items, func(c common.ContentItem) bool { return c.Name == want.Name }); i >= 0 {
		version = items[i].Version
	}

	return []string{fmt.Sprintf("%q has the revision %s, version %.32q, which is not that in spec.verification.%s",
		want.Name, got, version, field)}
}
