package runner

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
)

// connectionDetails returns the connection details that the content published as the data of a Secret: strings as they
// are, other values as JSON. The error names keys, never values.
func connectionDetails(raw json.RawMessage) (map[string][]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}

	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return nil, errors.Errorf("%s must be a mapping of names to values", events.ConnectionDetails)
	}

	details := make(map[string][]byte, len(values))

	for name, v := range values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}

		details[name] = []byte(text)
	}

	if err := CheckDetails(details); err != nil {
		return nil, err
	}

	return details, nil
}

// CheckDetails returns an error for connection details that a Secret cannot hold: because of a key, or of their total
// size. The error names keys, never values.
func CheckDetails(details map[string][]byte) error {
	size := 0

	for _, name := range slices.Sorted(maps.Keys(details)) {
		if problems := validation.IsConfigMapKey(name); len(problems) > 0 {
			return errors.Errorf("%s: %q cannot be a key of a Secret: %s", events.ConnectionDetails,
				clip.Text(name, events.MaxName), problems[0])
		}

		size += len(name) + len(details[name])
	}

	if size > corev1.MaxSecretSize {
		return errors.Errorf("%s: %d bytes are more than a Secret can have, which is %d", events.ConnectionDetails, size,
			corev1.MaxSecretSize)
	}

	return nil
}
