package installed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// VerifyNothing returns an error when something is to be verified where nothing is required.
func VerifyNothing(v *common.Verification) error { return (&tree{}).verify(v) }

// verify that what was installed has the revisions that it must have. The error says which it has instead.
func (t *tree) verify(v *common.Verification) error {
	if v == nil {
		return nil
	}

	wrong := t.differ("collections", v.Collections, t.collections, collectionPath)
	wrong = append(wrong, t.differ("roles", v.Roles, t.roles, rolePath)...)

	if len(wrong) == 0 {
		return nil
	}

	return errors.New(strings.Join(wrong, "; "))
}

// differ says how the items of a field are not what they must be.
func (t *tree) differ(field string, want []common.VerifiedContent, items []common.ContentItem,
	pathOf func(name string) string,
) (wrong []string) {
	for _, w := range want {
		switch got := t.revision(pathOf(w.Name)); got {
		case "": // A revision that is to be found out may be empty, too.
			wrong = append(wrong, fmt.Sprintf(
				"%q in spec.verification.%s was not installed: nothing requires it", w.Name, field))
		case w.Revision:
		default:
			version := ""
			if i := slices.IndexFunc(items, func(c common.ContentItem) bool { return c.Name == w.Name }); i >= 0 {
				version = items[i].Version
			}

			wrong = append(wrong, fmt.Sprintf("%q has the revision %s, version %.32q, which is not that in spec.verification.%s",
				w.Name, got, version, field))
		}
	}

	return wrong
}
