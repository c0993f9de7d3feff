package input

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// inEachRun is said of fields that only defaults had to lose.
const inEachRun = "write it in each run"

// gone are the fields that runs and defaults had before the first release, and what to write now.
var gone = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	"deletionPolicy":        "write onDelete: {policy: Keep} for a target that stays",
	"dependsOn":             inEachRun,
	"executableInventory":   `write inventories: [{script: "…"}]`,
	"forEach":               inEachRun,
	"forEachKey":            inEachRun,
	"inventory":             `write inventories: [{yaml: …}]`,
	"inventoryInline":       `write inventories: [{inline: "…"}]`,
	"inventories.secretRef": "write secretKeyRef",
	"inventories.source":    "path, secretKeyRef or configMapKeyRef says it",
	"readyWhen":             inEachRun,
	"resourceName": "the composed resource has the name of the run; write previousNames for one that " +
		"has another name",
	"scope": "a run with namespace is namespaced",
	"writeConnectionSecretToRef": "the run has a Secret if an expression reads runs.NAME.connectionDetails, as those of " +
		"connectionDetails do",
}

// places of the fields of a run, and the indexes below them.
var places = regexp.MustCompile(`^(defaults|runs\[\d+\])\.|\[\d+\]`)

// instead returns the error, which says what to write for a field that is gone.
func instead(err *field.Error) *field.Error {
	write, ok := gone[places.ReplaceAllString(err.Field, "")]
	if !ok || err.Type != field.ErrorTypeForbidden {
		return err
	}

	unknown, _, _ := strings.Cut(err.Detail, " (")
	err.Detail, err.BadValue = unknown+"; "+write, nil

	return err
}
