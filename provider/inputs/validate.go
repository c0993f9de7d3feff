package inputs

import (
	"bytes"
	"fmt"
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

// maxFilename is the length of the longest name of a file, in bytes.
const maxFilename = 255

const (
	// maxQuoted is how much of a value is quoted in an error, in bytes.
	maxQuoted = 128
	// maxFailure is the length of all errors of a field's values together, in bytes.
	maxFailure = 4 << 10
)

// PlaybookFile is the playbook of a run in the working directory, beside the
// credentials.
const PlaybookFile = "playbook.yml"

// Validate reports what the CRDs cannot check. Each error names the field, and the configuration if it is in that.
func (in Inputs) Validate() error {
	path := field.NewPath("spec", "forProvider")

	run := validatePlayEnv(in.PlayEnv, false, path.Child("env"))
	run = append(run, validateContent(in, path)...)
	run = append(run, validateVars(in.Parameters.Vars, false, path.Child("vars"))...)
	run = append(run, validateVars(in.Parameters.UnsafeVars, true, path.Child("unsafeVars"))...)
	run = append(run, validateHosts(&in.Parameters, path)...)

	if in.Parameters.OnDelete != nil {
		run = append(run, validateOnDelete(in, path.Child("onDelete"))...)
	}

	if err := aggregate(run); err != nil {
		return err
	}

	return in.validateConfig()
}

// validateFacts says why the facts of a run that asks for that cannot be kept.
func validateFacts(in Inputs, path *field.Path) field.ErrorList {
	const instead = "or leave spec.forProvider.factCachingTimeout of the AnsibleRun out"

	if in.Parameters.FactCachingTimeout == nil {
		return nil
	}

	var errs field.ErrorList

	if in.Execution.Place == common.PlacePod {
		errs = append(errs, field.Forbidden(path.Child("execution", "place"),
			"a Pod keeps no facts for the next one: have runs happen in the provider, "+instead))
	}

	for _, name := range slices.Sorted(maps.Keys(in.ForPlay())) {
		if strings.HasPrefix(name, "ANSIBLE_CACHE_PLUGIN") {
			errs = append(errs, field.Forbidden(path.Child("vars").Key(name),
				"there would be two caches of facts: remove it, "+instead))
		}
	}

	for _, option := range []string{"fact_caching", "fact_caching_connection", "fact_caching_timeout"} {
		if in.AnsibleConfig().Get("defaults", option) != "" {
			errs = append(errs, field.Forbidden(path.Child("credentials").Key(AnsibleConfigFile),
				"there would be two caches of facts: remove "+option+", "+instead))
		}
	}

	return errs
}

// validateConfig reports mistakes in the configuration: credentials and variables with names
// that have a meaning to Ansible or the provider, and verification without keys.
func (in Inputs) validateConfig() error {
	errs := validateCredentials(in.Credentials, field.NewPath("spec", "credentials"))
	errs = append(errs, validateEnv(in.Env, field.NewPath("spec", "vars"))...)
	errs = append(errs, validatePlayEnv(in.PlayEnv, true, field.NewPath("spec", "env"))...)
	errs = append(errs, validateVerification(in, field.NewPath("spec", "verification"))...)
	errs = append(errs, validateFacts(in, field.NewPath("spec"))...)

	return errors.Wrap(aggregate(errs), in.Config)
}

// aggregate errors into one that fits into a condition, however many and long the values
// in them are.
func aggregate(errs field.ErrorList) error {
	first := errs[:min(len(errs), maxErrors)]

	for _, err := range first {
		if s, ok := err.BadValue.(string); ok {
			err.BadValue = clip.Text(s, maxQuoted)
		}
	}

	err := first.ToAggregate()
	if err == nil {
		return nil
	}

	text := clip.Text(err.Error(), maxFailure)
	if more := len(errs) - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}

	return errors.New(text)
}

// validateContent reports mistakes in what runs.
func validateContent(in Inputs, path *field.Path) field.ErrorList {
	errs := append(validateRoles(in, path), validatePlaybooks(&in.Parameters, path)...)

	return append(errs, validateTags(&in.Parameters, path)...)
}

// validateOnDelete reports mistakes in what runs when the object is deleted.
func validateOnDelete(in Inputs, path *field.Path) field.ErrorList {
	d := in.ForDeletion()
	if in.Parameters.OnDelete.Replaces() {
		return validateContent(d, path)
	}

	return validateTags(&d.Parameters, path)
}

func validateRoles(in Inputs, path *field.Path) field.ErrorList {
	var errs field.ErrorList

	for i, r := range in.Roles {
		item := path.Child("roles").Index(i)
		name := item.Child("name")

		if in.Parameters.Role != "" {
			name = path.Child("role")
		}

		if err := validateRoleName(r.Name); err != nil {
			errs = append(errs, field.Invalid(name, r.Name, err.Error()))
		}

		errs = append(errs, validateRoleSource(r, item)...)
	}

	return errs
}

// validateRoleSource reports a src or version that git or hg would read as an option:
// ansible-galaxy passes both as arguments. What is not printable would not be seen in an
// error.
func validateRoleSource(r common.Role, path *field.Path) field.ErrorList {
	var errs field.ErrorList

	for _, f := range []struct{ name, value string }{{"src", r.Src}, {"version", r.Version}} {
		switch _, rest, scm := strings.Cut(f.value, "+"); {
		case isOption(f.value), scm && isOption(rest), strings.Contains(f.value, ",-"):
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "must not start with a dash"))
		case !isPrintable(f.value):
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "must be printable"))
		}
	}

	if r.Src == "" && r.Version == "" {
		return errs
	}

	switch parts := strings.Count(r.Name, ".") + 1; {
	case parts > 2:
		errs = append(errs,
			field.Forbidden(path,
				"a role of a collection has no src or version of its own: require its collection in the ProviderConfig"))
	case parts == 1 && r.Src == "":
		errs = append(errs, field.Required(path.Child("src"), "a role without a namespace is not on Galaxy"))
	}

	return errs
}

// isPrintable is false for bytes that are no UTF-8, too. A manifest from a file may have
// them.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}

func isOption(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "-") }

// validateArgument reports a value that cannot be an argument.
func validateArgument(path *field.Path, value string) field.ErrorList {
	if !strings.ContainsFunc(value, unicode.IsControl) {
		return nil
	}

	return field.ErrorList{field.Invalid(path, value, "must not contain control characters")}
}

func validateTags(p *common.AnsibleRunParameters, path *field.Path) field.ErrorList {
	var errs field.ErrorList

	for i, tag := range p.Tags {
		errs = append(errs, validateArgument(path.Child("tags").Index(i), tag)...)
	}

	for i, tag := range p.SkipTags {
		errs = append(errs, validateArgument(path.Child("skipTags").Index(i), tag)...)
	}

	return errs
}

// validateHosts reports hosts and a limit that cannot be arguments, and a limit that makes Ansible read a file.
func validateHosts(p *common.AnsibleRunParameters, path *field.Path) field.ErrorList {
	errs := append(validateArgument(path.Child("hosts"), p.Hosts), validateArgument(path.Child("limit"), p.Limit)...)

	// Source: InventoryManager.subset of ansible-core.
	for part := range strings.FieldsFuncSeq(p.Limit, func(c rune) bool { return strings.ContainsRune(",;: ", c) }) {
		if strings.HasPrefix(part, "@") {
			errs = append(errs, field.Invalid(path.Child("limit"), p.Limit, "must not name a file: there is none with hosts"))
		}
	}

	return errs
}

func validatePlaybooks(p *common.AnsibleRunParameters, path *field.Path) field.ErrorList {
	var errs field.ErrorList

	check := func(path *field.Path, name string) {
		if err := validatePlaybook(name, p.Project != nil); err != nil {
			errs = append(errs, field.Invalid(path, name, err.Error()))
		}
	}

	if p.Playbook != "" {
		check(path.Child("playbook"), p.Playbook)
	}

	for i, name := range p.Playbooks {
		check(path.Child("playbooks").Index(i), name)
	}

	return errs
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
	case IsProjectPlaybook(name):
		return errors.New("must be namespace.collection.playbook; a path needs project, the repository that has it")
	}

	return errors.New("must be namespace.collection.playbook")
}

func validateCredentials(files []File, path *field.Path) field.ErrorList {
	var errs field.ErrorList

	seen := map[string]bool{}

	for i, f := range files {
		name := path.Index(i).Child("filename")

		if seen[f.Name] {
			errs = append(errs, field.Duplicate(name, f.Name))
		}

		seen[f.Name] = true

		if err := validateFilename(f.Name); err != nil {
			errs = append(errs, field.Invalid(name, f.Name, err.Error()))
		}
	}

	return errs
}

// validateVerification makes sure that there is something to verify, and keys for it. gpg reads a file without
// keys as an empty keyring, and looks for keys elsewhere. The CRD checks the rest.
func validateVerification(in Inputs, path *field.Path) field.ErrorList {
	v := in.Verification

	switch {
	case v == nil:
		return nil
	case v.Keyring == "" && len(v.Collections)+len(v.Roles) == 0:
		return field.ErrorList{field.Required(path, "one of keyring, collections and roles must be set")}
	case v.Keyring == "":
		return nil
	}

	keyring, found := Find(in.Credentials, v.Keyring)
	path = path.Child("keyring")

	switch {
	case !found:
		return field.ErrorList{field.Invalid(path, v.Keyring, "must be the filename of one of the credentials")}
	case len(keyring.Data) == 0 || bytes.HasPrefix(bytes.TrimSpace(keyring.Data), []byte("-----")):
		return field.ErrorList{
			field.Invalid(path, v.Keyring, "must have public keys as gpg --export writes them without --armor"),
		}
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
	case len(name) > maxFilename:
		return errors.Errorf("must have %d bytes at most", maxFilename)
	case strings.HasPrefix(name, "-"):
		return errors.New("must not start with a dash")
	case strings.HasPrefix(name, ".") && !slices.Contains(dotfiles, name):
		return errors.Errorf("must not start with a dot, except for %s", strings.Join(dotfiles, ", "))
	case slices.Contains(reserved, name), strings.HasSuffix(name, "_plugins"):
		return errors.New("has a meaning to Ansible or ansible-runner")
	}

	return nil
}

func validateEnv(env map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList

	for _, name := range slices.Sorted(maps.Keys(env)) {
		if err := environ.Validate(name, env[name]); err != nil {
			errs = append(errs, field.Invalid(path, name, err.Error()))
		}
	}

	return errs
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
