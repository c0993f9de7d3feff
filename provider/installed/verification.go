package installed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// VerifyNothing returns an error if the verification expects items, for a run without requirements.
func VerifyNothing(v *common.Verification) error { return (&tree{}).verify(v) }

// verify compares the installed items with the expected revisions. The error has the actual revisions.
func (t *tree) verify(v *common.Verification) error {
	if v == nil {
		return nil
	}

	wrong := t.differences("collections", v.Collections, t.collections, collectionPath)
	wrong = append(wrong, t.differences("roles", v.Roles, t.roles, rolePath)...)

	if len(wrong) == 0 {
		return nil
	}

	return errors.New(strings.Join(wrong, "; "))
}

// differences describes the items of a field that are missing or have another revision.
func (t *tree) differences(field string, want []common.VerifiedContent, items []common.ContentItem,
	pathOf func(name string) string,
) (wrong []string) {
	for _, w := range want {
		switch got := t.revision(pathOf(w.Name)); got {
		case "": // Even an item with an unknown, empty revision must be installed.
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
