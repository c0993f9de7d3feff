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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// VaultHeader starts what ansible-vault has encrypted.
const VaultHeader = "$ANSIBLE_VAULT;"

// maxDepth is how deep variables may be nested. Ansible takes some 190 levels,
// and calls more a recursive loop in a template.
const maxDepth = 128

// maxErrors is how many mistakes are reported at a time.
const maxErrors = 10

// Ansible reads a mapping with one of these keys as an encrypted value, or as a value
// without templates. Source: the legacy JSON profile of ansible-core.
const (
	keyVault  = "__ansible_vault"
	keyUnsafe = "__ansible_unsafe"
)

// validateVars reports variables that a play would see with other values than were
// written. Mappings that stand for encrypted values are allowed unless vars are unsafe.
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

	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if err := validateVariableName(name); err != nil && len(v.errs) < maxErrors {
			v.errs = append(v.errs, field.Invalid(path.Key(name), name, err.Error()))
		}
	}

	v.value(vars, path, 0)

	return v.errs
}

// validateVariableName reports a name that no template can refer to, or that YAML has made of another one.
func validateVariableName(name string) error {
	switch {
	case name == "true" || name == "false":
		return errors.New("is what YAML makes of words such as y, n, on and off: write the name in quotes")
	case !isIdentifier(name):
		return errors.New("must be an identifier, as names of variables are: letters, digits and _")
	}

	return nil
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
		v.errs = append(v.errs,
			field.Invalid(v.root, field.OmitValueType{}, fmt.Sprintf("must not be nested deeper than %d levels", maxDepth)))

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

// marker checks a mapping that Ansible reads as a value. If one of them is malformed,
// Ansible reads none of these variables' mappings as values.
func (v *varsValidator) marker(m map[string]any, path *field.Path) {
	if v.unsafe {
		return
	}

	if text, ok := m[keyVault]; ok {
		if s, ok := text.(string); !ok || !strings.HasPrefix(s, VaultHeader) {
			v.errs = append(v.errs,
				field.Invalid(path.Key(keyVault), field.OmitValueType{},
					"must be what ansible-vault encrypt_string prints after !vault"))
		}
	}

	if text, ok := m[keyUnsafe]; ok {
		if _, ok := text.(string); !ok {
			v.errs = append(v.errs, field.Invalid(path.Key(keyUnsafe), field.OmitValueType{}, "must be a string"))
		}
	}
}

// exact is true for a number that the API server has certainly not rounded. It keeps
// integers of 64 bits, and makes floating-point numbers of all others. One without a
// fraction may have been a larger integer.
func exact(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}

	const limit = 1 << 63

	f, err := n.Float64()

	return err == nil && f > -limit && f < limit && strings.ContainsAny(n.String(), ".eE")
}
