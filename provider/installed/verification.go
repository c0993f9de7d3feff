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

// VerifyNothing returns an error when something is to be verified where nothing is required.
func VerifyNothing(v *common.Verification) error { return Manifest{}.verify(v, nil) }

// verify that what was installed has the revisions that it must have, of all by their paths. The error says
// which it has instead.
func (m Manifest) verify(v *common.Verification, all map[string]string) error {
	if v == nil {
		return nil
	}

	var wrong []string

	for _, c := range v.Collections {
		wrong = append(wrong, differs(c, m.Collections, "collections", all[collectionPath(c.Name)])...)
	}

	for _, r := range v.Roles {
		wrong = append(wrong, differs(r, m.Roles, "roles", all[path.Join(galaxy.RolesDir, r.Name)])...)
	}

	if len(wrong) == 0 {
		return nil
	}

	return errors.New(strings.Join(wrong, "; "))
}

// differs says how an item, with the revision that it has, is not what it must be.
func differs(want common.VerifiedContent, items []common.ContentItem, field, got string) []string {
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
