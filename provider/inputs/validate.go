package inputs

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
)

const (
	// maxQuoted is the largest length of a value in an error, in bytes.
	maxQuoted = 128
	// maxFailure is the length of the longest error, in bytes. Errors contain names of variables, which may be long.
	maxFailure = 4 << 10
)

// Validate returns the first error that the CRDs cannot find. It names the field, and the configuration for a field of
// the configuration.
func (in Inputs) Validate() error {
	path, p := field.NewPath("spec", "forProvider"), &in.Parameters

	err := cmp.Or(
		validateRoles(in, path), validateRoles(in.ForDeletion(), path.Child("onDelete")),
		validateVars(p.Vars, false, path.Child("vars")), validateVars(p.UnsafeVars, true, path.Child("unsafeVars")),
	)
	if err == nil {
		spec := field.NewPath("spec")
		err = errors.Wrap(cmp.Or(
			validateEnv(in.Env, spec.Child("vars")), validateVerification(in, spec.Child("verification", "keyring")),
			validateFacts(in, spec),
		), in.Config)
	}

	if err == nil {
		return nil
	}

	return errors.New(clip.Text(err.Error(), maxFailure))
}

// invalid returns an error for a value, which is cut if it is long.
func invalid(path *field.Path, value, message string) error {
	return field.Invalid(path, clip.Text(value, maxQuoted), message)
}

// validateFacts returns an error if factCachingTimeout is set and the provider cannot keep facts.
func validateFacts(in Inputs, path *field.Path) error {
	const instead = "or leave spec.forProvider.factCachingTimeout of the AnsibleRun out"

	if in.Parameters.FactCachingTimeout == nil {
		return nil
	}

	if in.Execution.Place == common.PlacePod {
		return field.Forbidden(path.Child("execution", "place"),
			"a Pod keeps no facts for the next one: have runs happen in the provider, "+instead)
	}

	for _, name := range slices.Sorted(maps.Keys(in.ForPlay())) {
		if strings.HasPrefix(name, "ANSIBLE_CACHE_PLUGIN") {
			return field.Forbidden(path.Child("vars").Key(name), "there would be two caches of facts: remove it, "+instead)
		}
	}

	for _, option := range []string{"fact_caching", "fact_caching_connection", "fact_caching_timeout"} {
		if in.AnsibleConfig().Get("defaults", option) != "" {
			return field.Forbidden(path.Child("credentials").Key(AnsibleConfigFile),
				"there would be two caches of facts: remove "+option+", "+instead)
		}
	}

	return nil
}

func validateRoles(in Inputs, path *field.Path) error {
	for i, r := range in.Roles {
		item := path.Child("roles").Index(i)
		name := item.Child("name")

		if in.Parameters.Role != "" {
			name = path.Child("role")
		}

		if err := validateRoleName(r.Name); err != nil {
			return invalid(name, r.Name, err.Error())
		}

		switch parts := strings.Count(r.Name, ".") + 1; {
		case r.Src == "" && r.Version == "":
		case parts > 2:
			return field.Forbidden(item,
				"a role of a collection has no src or version of its own: require its collection in the ProviderConfig")
		case parts == 1 && r.Src == "":
			return field.Required(item.Child("src"), "a role without a namespace is not on Galaxy")
		}
	}

	return nil
}

// validateVerification returns an error if the keyring has no public keys. gpg would take a file without keys for an
// empty keyring, and use other keyrings. The CRD checks the other fields.
func validateVerification(in Inputs, path *field.Path) error {
	v := in.Verification
	if v == nil || v.Keyring == "" {
		return nil
	}

	switch keyring, found := Find(in.Credentials, v.Keyring); {
	case !found:
		return invalid(path, v.Keyring, "must be the filename of one of the credentials")
	case len(keyring.Data) == 0 || bytes.HasPrefix(bytes.TrimSpace(keyring.Data), []byte("-----")):
		return invalid(path, v.Keyring, "must have public keys as gpg --export writes them without --armor")
	}

	return nil
}

func validateEnv(env map[string]string, path *field.Path) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if err := environ.Validate(name, env[name]); err != nil {
			return invalid(path, name, err.Error())
		}
	}

	return nil
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// ofCollection matches a fully qualified name in a collection: namespace.collection.name, or more parts for a
	// subdirectory. Source: AnsibleCollectionRef of ansible-core.
	ofCollection = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*){2,}$`)
	// otherRole matches the name of a role outside of collections, which is the name of its directory.
	// https://docs.ansible.com/ansible/latest/dev_guide/developing_collections_structure.html#roles-directory
	otherRole = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*([.][A-Za-z0-9_][A-Za-z0-9_-]*)?$`)
)

// validateRoleName returns an error for an invalid name of a role.
func validateRoleName(name string) error {
	switch parts := strings.Count(name, ".") + 1; {
	case parts > 2 && !ofCollection.MatchString(name):
		return errors.New("must be namespace.collection.role, each part a Python identifier")
	case parts <= 2 && !otherRole.MatchString(name):
		return errors.New("must be namespace.collection.role or namespace.role")
	}

	return nil
}
