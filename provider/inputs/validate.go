package inputs

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
)

const (
	// maxQuoted is how much of a value is quoted in an error, in bytes.
	maxQuoted = 128
	// maxFailure is the length of the longest error, in bytes: names of variables are a part of it.
	maxFailure = 4 << 10
)

// PlaybookFile is the playbook of a run in the working directory, beside the
// credentials.
const PlaybookFile = "playbook.yml"

// Validate reports the first mistake that the CRDs cannot find. The error names the field, and the configuration if it
// is in that.
func (in Inputs) Validate() error {
	path, p := field.NewPath("spec", "forProvider"), &in.Parameters

	err := cmp.Or(
		validateContent(in, path), validateOnDelete(in, path.Child("onDelete")),
		validateVars(p.Vars, false, path.Child("vars")), validateVars(p.UnsafeVars, true, path.Child("unsafeVars")),
		validateArgument(path.Child("hosts"), p.Hosts), validateLimit(path.Child("limit"), p.Limit),
	)
	if err == nil {
		spec := field.NewPath("spec")
		err = errors.Wrap(cmp.Or(
			validateCredentials(in.Credentials, spec.Child("credentials")), validateEnv(in.Env, spec.Child("vars")),
			validateVerification(in, spec.Child("verification", "keyring")), validateFacts(in, spec),
		), in.Config)
	}

	if err == nil {
		return nil
	}

	return errors.New(clip.Text(err.Error(), maxFailure))
}

// invalid is the error for a value, however long that is.
func invalid(path *field.Path, value, message string) error {
	return field.Invalid(path, clip.Text(value, maxQuoted), message)
}

// validateFacts says why the facts of a run that asks for that cannot be kept.
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

// validateContent reports a mistake in what runs.
func validateContent(in Inputs, path *field.Path) error {
	return cmp.Or(validateRoles(in, path), validatePlaybooks(&in.Parameters, path), validateTags(&in.Parameters, path))
}

// validateOnDelete reports a mistake in what runs when the object is deleted.
func validateOnDelete(in Inputs, path *field.Path) error {
	if in.Parameters.OnDelete == nil {
		return nil
	}

	d := in.ForDeletion()
	if in.Parameters.OnDelete.Replaces() {
		return validateContent(d, path)
	}

	return validateTags(&d.Parameters, path)
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

// isPrintable is false for bytes that are no UTF-8, too. A manifest from a file may have
// them.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}

// validateArgument reports a value that cannot be an argument.
func validateArgument(path *field.Path, value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return invalid(path, value, "must not contain control characters")
	}

	return nil
}

func validateTags(p *common.AnsibleRunParameters, path *field.Path) error {
	for i, tag := range p.Tags {
		if err := validateArgument(path.Child("tags").Index(i), tag); err != nil {
			return err
		}
	}

	for i, tag := range p.SkipTags {
		if err := validateArgument(path.Child("skipTags").Index(i), tag); err != nil {
			return err
		}
	}

	return nil
}

// validateLimit reports a limit that cannot be an argument, and one that makes Ansible read a file.
func validateLimit(path *field.Path, limit string) error {
	// Source: InventoryManager.subset of ansible-core.
	for part := range strings.FieldsFuncSeq(limit, func(c rune) bool { return strings.ContainsRune(",;: ", c) }) {
		if strings.HasPrefix(part, "@") {
			return invalid(path, limit, "must not name a file: there is none with hosts")
		}
	}

	return validateArgument(path, limit)
}

func validatePlaybooks(p *common.AnsibleRunParameters, path *field.Path) error {
	if p.Playbook != "" {
		if err := validatePlaybook(p.Playbook, p.Project != nil); err != nil {
			return invalid(path.Child("playbook"), p.Playbook, err.Error())
		}
	}

	for i, name := range p.Playbooks {
		if err := validatePlaybook(name, p.Project != nil); err != nil {
			return invalid(path.Child("playbooks").Index(i), name, err.Error())
		}
	}

	return nil
}

// validatePlaybook reports what is neither a playbook of a collection, nor of a project if there is one.
func validatePlaybook(name string, project bool) error {
	switch {
	case project && IsProjectPlaybook(name):
		return validatePlaybookPath(name)
	case isFQCN(name):
		return nil
	case project:
		return errors.New("must be the path of a playbook of the project, such as site.yml, or namespace.collection.playbook")
	}

	return errors.New("must be namespace.collection.playbook")
}

func validateCredentials(files []File, path *field.Path) error {
	for i, f := range files {
		name := path.Index(i).Child("filename")

		if _, found := Find(files[:i], f.Name); found {
			return field.Duplicate(name, f.Name)
		}

		if err := validateFilename(f.Name); err != nil {
			return invalid(name, f.Name, err.Error())
		}
	}

	return nil
}

// validateVerification makes sure that there are keys to verify with. gpg reads a file without
// keys as an empty keyring, and looks for keys elsewhere. The CRD checks the rest.
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

// validateFilename reports names of credentials that have a meaning to the provider,
// ansible-runner, Ansible or a shell.
func validateFilename(name string) error {
	dotfiles := []string{
		".aws", ".boto", ".docker", ".dockerconfigjson", ".git-credentials", ".gitconfig", ".htpasswd", ".kubeconfig",
		".my.cnf", ".netrc", ".pgpass", ".vault", ".vault-pass", ".vault-pass.txt", ".vault-password",
		".vault-password.txt", ".vault_pass", ".vault_pass.txt", ".vault_password", ".vault_password.txt",
		".vault_password_file",
	}
	reserved := []string{
		PlaybookFile, "args", "artifacts", "cmdline", "collections", "daemon.log", "env", "envvars", "extravars",
		"fact_cache", "group_vars", "host_vars", "inventory", "library", "module_utils", "passwords", "pid",
		"profiling_data", "project", "roles", "settings", "ssh_key",
	}

	switch {
	case name == "" || strings.ContainsAny(name, "/\\") || !isPrintable(name):
		return errors.New("must be the name of a file, without a path")
	case len(name) > 255:
		return errors.New("must have 255 bytes at most")
	case strings.HasPrefix(name, "-"):
		return errors.New("must not start with a dash")
	case strings.HasPrefix(name, ".") && !slices.Contains(dotfiles, name):
		return errors.Errorf("must not start with a dot, except for %s", strings.Join(dotfiles, ", "))
	case slices.Contains(reserved, name), strings.HasSuffix(name, "_plugins"):
		return errors.New("has a meaning to Ansible or ansible-runner")
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

var rolePart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// validateRoleName reports what cannot be the name of a role. That of a role of a
// collection consists of Python identifiers; that of another role is the name of a directory.
// https://docs.ansible.com/ansible/latest/dev_guide/developing_collections_structure.html#roles-directory
func validateRoleName(name string) error {
	if strings.Count(name, ".") > 1 {
		if !isFQCN(name) {
			return errors.New("must be namespace.collection.role, each part a Python identifier")
		}

		return nil
	}

	for part := range strings.SplitSeq(name, ".") {
		if !rolePart.MatchString(part) {
			return errors.New("must be namespace.collection.role or namespace.role")
		}
	}

	return nil
}

// isFQCN is true for the fully qualified name of something in a collection:
// namespace.collection.name, or more parts where it is in a sub-directory.
// Source: AnsibleCollectionRef of ansible-core.
func isFQCN(name string) bool {
	parts := strings.Split(name, ".")

	return len(parts) > 2 && !slices.ContainsFunc(parts, func(p string) bool { return !isIdentifier(p) })
}

var identifierPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func isIdentifier(name string) bool {
	return identifierPattern.MatchString(name)
}
