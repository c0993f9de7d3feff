package inputs

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// VaultHeader is the prefix of text that ansible-vault has encrypted.
const VaultHeader = "$ANSIBLE_VAULT;"

// maxDepth is the largest depth of nested variables. Ansible accepts about 190 levels, and reports more as a recursive
// loop in a template.
const maxDepth = 128

var errDeep = errors.Errorf("must not be nested deeper than %d levels", maxDepth)

// Ansible reads a mapping with one of these keys as an encrypted value, or as a value without templates. Source: the
// legacy JSON profile of ansible-core.
const (
	keyVault  = "__ansible_vault"
	keyUnsafe = "__ansible_unsafe"
)

// validateVars returns an error for a variable that would have another value in a play than in the spec. Malformed
// mappings for encrypted values are an error unless the variables are unsafe.
func validateVars(raw *runtime.RawExtension, unsafe bool, path *field.Path) error {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}

	d := json.NewDecoder(bytes.NewReader(raw.Raw))
	d.UseNumber()

	var vars map[string]any
	if d.Decode(&vars) != nil {
		return field.TypeInvalid(path, "", "must be a mapping of names to values")
	}

	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if err := validateVariableName(name); err != nil {
			return invalid(path.Key(name), name, err.Error())
		}
	}

	err := validateValue(vars, unsafe, path, 0)
	if errors.Is(err, errDeep) {
		return field.Invalid(path, field.OmitValueType{}, err.Error())
	}

	return err
}

// validateVariableName returns an error for a name that templates cannot refer to, or that YAML has changed.
func validateVariableName(name string) error {
	switch {
	case name == "true" || name == "false":
		return errors.New("is what YAML makes of words such as y, n, on and off: write the name in quotes")
	case !identifier.MatchString(name):
		return errors.New("must be an identifier, as names of variables are: letters, digits and _")
	}

	return nil
}

func validateValue(value any, unsafe bool, path *field.Path, depth int) error {
	if depth > maxDepth {
		return errDeep
	}

	switch value := value.(type) {
	case json.Number:
		if !exact(value) {
			return field.Invalid(path, value.String(),
				"may not be the number that was written, since the API server rounds those beyond 64 bits: write it as a string")
		}
	case []any:
		for i, item := range value {
			if err := validateValue(item, unsafe, path.Index(i), depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := validateMarker(value, path); err != nil && !unsafe {
			return err
		}

		for _, k := range slices.Sorted(maps.Keys(value)) {
			if err := validateValue(value[k], unsafe, path.Key(k), depth+1); err != nil {
				return err
			}
		}
	}

	return nil
}

// validateMarker returns an error for a malformed mapping with keyVault or keyUnsafe. Because of one such mapping,
// Ansible would read no mapping of these variables as a value.
func validateMarker(m map[string]any, path *field.Path) error {
	if text, ok := m[keyVault]; ok {
		if s, ok := text.(string); !ok || !strings.HasPrefix(s, VaultHeader) {
			return field.Invalid(path.Key(keyVault), field.OmitValueType{},
				"must be what ansible-vault encrypt_string prints after !vault")
		}
	}

	if text, ok := m[keyUnsafe]; ok {
		if _, ok := text.(string); !ok {
			return field.Invalid(path.Key(keyUnsafe), field.OmitValueType{}, "must be a string")
		}
	}

	return nil
}

// exact is true for a number that the API server has certainly not rounded. It keeps integers of 64 bits, and converts
// all other numbers to floating-point numbers. A large number without a fraction may have been an integer.
func exact(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}

	const limit = 1 << 63

	f, err := n.Float64()

	return err == nil && f > -limit && f < limit && strings.ContainsAny(n.String(), ".eE")
}
