package common

import (
	"bytes"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Role of a run. With a source or a version it is also a requirement.
type Role struct {
	// Name of the role.
	Name string `json:"name,omitempty"`
	// Src is where ansible-galaxy installs the role from.
	Src string `json:"src,omitempty"`
	// Version is the version, tag, branch or commit to install.
	Version string `json:"version,omitempty"`
}

// MaxRoles is how many roles a run may have.
const MaxRoles = 100

// ParseRoles returns the roles of the parameters in order, the role of the field role included. The error names the
// item that is neither a string nor an object {name, src, version}.
func (p *AnsibleRunParameters) ParseRoles() ([]Role, error) {
	return parseRoles(p.Role, p.Roles, "spec.forProvider.roles")
}

// ParseRoles returns the roles that a deletion run runs in place of the content.
func (o *OnDelete) ParseRoles() ([]Role, error) {
	return parseRoles(o.Role, o.Roles, "spec.forProvider.onDelete.roles")
}

func parseRoles(role string, list *apiextensionsv1.JSON, path string) ([]Role, error) {
	if role != "" {
		return []Role{{Name: role}}, nil
	}

	if list == nil {
		return nil, nil
	}

	var items []json.RawMessage
	if err := json.Unmarshal(list.Raw, &items); err != nil {
		return nil, errors.Errorf("%s must be a list", path)
	}

	if len(items) == 0 {
		return nil, errors.Errorf("%s must not be empty", path)
	}

	if len(items) > MaxRoles {
		return nil, errors.Errorf("%s must have at most %d items, not %d", path, MaxRoles, len(items))
	}

	roles := make([]Role, len(items))

	for i, item := range items {
		r, err := parseRole(item)
		if err != nil {
			return nil, errors.Wrapf(err, "%s[%d]", path, i)
		}

		roles[i] = r
	}

	return roles, nil
}

func parseRole(raw []byte) (Role, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		if name == "" {
			return Role{}, errors.New("must not be empty")
		}

		return Role{Name: name}, nil
	}

	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()

	r := Role{}
	if err := d.Decode(&r); err != nil {
		return Role{}, errors.Wrap(err, "must be a string or an object {name, src, version}")
	}

	if r.Name == "" {
		return Role{}, errors.New("must have a name")
	}

	return r, nil
}

// ParseVars returns the environment variables of the configuration by name. Vars is a map, or a list of {key, value}.
func (s *ProviderConfigSpec) ParseVars() (map[string]string, error) {
	if s.Vars == nil || len(s.Vars.Raw) == 0 || string(s.Vars.Raw) == "null" {
		return nil, nil
	}

	var list []struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}

	raw := map[string]any{}

	if err := decodeNumbers(s.Vars.Raw, &list); err == nil {
		for i, kv := range list {
			if kv.Key == "" {
				return nil, errors.Errorf("spec.vars[%d] must have a key", i)
			}

			raw[kv.Key] = kv.Value
		}
	} else if err := decodeNumbers(s.Vars.Raw, &raw); err != nil {
		return nil, errors.New("spec.vars must be a map of names to values, or a list of {key, value}")
	}

	vars := make(map[string]string, len(raw))

	for k, v := range raw {
		switch v := v.(type) {
		case string:
			vars[k] = v
		case bool, json.Number:
			vars[k] = fmt.Sprint(v)
		case nil:
			vars[k] = ""
		default:
			return nil, errors.Errorf("spec.vars: the value of %q must be a string, a number or a boolean", k)
		}
	}

	return vars, nil
}

// decodeNumbers decodes JSON and keeps numbers as they were written.
func decodeNumbers(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()

	return d.Decode(into)
}
