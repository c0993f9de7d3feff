package inputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// VaultHeader starts what ansible-vault has encrypted.
const VaultHeader = "$ANSIBLE_VAULT;"

// maxDepth is how deep variables may be nested. Ansible takes some 190 levels,
// and calls more a recursive loop in a template.
const maxDepth = 128

// maxErrors is how many mistakes are reported at a time.
const maxErrors = 10

// What Ansible takes a mapping with this key for: an encrypted value, or one
// that is not to be templated.
// Source: the legacy JSON profile of ansible-core.
const (
	keyVault  = "__ansible_vault"
	keyUnsafe = "__ansible_unsafe"
)

// validateVars reports variables that would not arrive as they were written.
// Unless they are unsafe, mappings may stand for encrypted values.
func validateVars(raw *runtime.RawExtension, unsafe bool, path *field.Path) field.ErrorList {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}

	d := json.NewDecoder(bytes.NewReader(raw.Raw))
	d.UseNumber()

	var vars map[string]any
	if d.Decode(&vars) != nil {
		return field.ErrorList{field.TypeInvalid(path, "", "must be a mapping of names to values")}
	}

	v := varsValidator{root: path, unsafe: unsafe}
	v.value(vars, path, 0)

	return v.errs
}

type varsValidator struct {
	root   *field.Path
	unsafe bool
	errs   field.ErrorList
}

func (v *varsValidator) value(value any, path *field.Path, depth int) {
	if len(v.errs) >= maxErrors {
		return
	}

	if depth > maxDepth {
		v.errs = append(v.errs, field.Invalid(v.root, field.OmitValueType{}, fmt.Sprintf("must not be nested deeper than %d levels", maxDepth)))

		return
	}

	switch value := value.(type) {
	case json.Number:
		if !exact(value) {
			v.errs = append(v.errs, field.Invalid(path, value.String(),
				"may not be the number that was written, since the API server rounds those beyond 64 bits: write it as a string"))
		}
	case []any:
		for i, item := range value {
			v.value(item, path.Index(i), depth+1)
		}
	case map[string]any:
		v.marker(value, path)

		for _, k := range slices.Sorted(maps.Keys(value)) {
			v.value(value[k], path.Key(k), depth+1)
		}
	}
}

// marker checks a mapping that stands for a value. If it cannot, Ansible takes
// none in these variables for a value.
func (v *varsValidator) marker(m map[string]any, path *field.Path) {
	if v.unsafe {
		return
	}

	if text, ok := m[keyVault]; ok {
		if s, ok := text.(string); !ok || !strings.HasPrefix(s, VaultHeader) {
			v.errs = append(v.errs, field.Invalid(path.Key(keyVault), field.OmitValueType{}, "must be what ansible-vault encrypt_string prints after !vault"))
		}
	}

	if text, ok := m[keyUnsafe]; ok {
		if _, ok := text.(string); !ok {
			v.errs = append(v.errs, field.Invalid(path.Key(keyUnsafe), field.OmitValueType{}, "must be a string"))
		}
	}
}

// exact is true for a number that is what the user wrote, as far as one can tell
// from what the API server made of it: it keeps integers of 64 bits, and makes
// floating-point numbers of all others. Those without a fraction may have been
// integers.
func exact(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}

	const limit = 1 << 63

	f, err := n.Float64()

	return err == nil && f > -limit && f < limit && strings.ContainsAny(n.String(), ".eE")
}
