// Package inputs has what users control of a run, resolved to plain values: parameters,
// files, configuration. The resolver of provider/config makes Inputs. They are validated,
// identified by a digest that says whether a run is due, and executed by provider/runner.
package inputs

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// KnownHostsFile is the name of the credential with the keys of hosts that ssh trusts.
const KnownHostsFile = "known_hosts"

// A File that a reference resolved to.
type File struct {
	// Name in the working directory for a credential, and that of a variable of the environment; what the file was
	// resolved from, for error messages, otherwise.
	Name string
	// Data of the file.
	Data []byte
	// Path of an inventory of the project, which has the data; empty for all other files.
	Path string
	// Secret is true for data that must never be reported, and From says where that comes from.
	Secret bool
	From   redact.Source
	// Rotates names the source of a credential with rotates: true, which is the input
	// instead of the data; empty for all other files.
	Rotates string
}

// Find a file by its name; false when there is none.
func Find(files []File, name string) (File, bool) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}

	return files[i], true
}

// WithLineEnd returns the file with an end of its last line. ssh reads no private key without
// one, and it is easily lost on the way into a Secret.
func (f File) WithLineEnd() File {
	if !bytes.HasSuffix(f.Data, []byte("\n")) {
		f.Data = append(bytes.Clone(f.Data), '\n')
	}

	return f
}

// Inputs of a run.
type Inputs struct {
	// Parameters as written.
	Parameters common.AnsibleRunParameters
	// Roles that the parameters name, role and roles alike.
	Roles []common.Role
	// Required are the roles to be installed if deletion runs other content: those that are applied, then those that
	// deletion runs. Both runs have the same, so that what a deletion needs is there before.
	Required []common.Role
	// VarFiles in order, weakest first. Missing optional files are left out.
	VarFiles []File
	// Inventories in order, inventoryInline last.
	Inventories []File
	// Tree is the directory of this machine that is the project, as it is now, in place of its repository; empty for
	// none. Only the author of the content has one.
	Tree string
	// Owner is a cluster scoped configuration, for what the run has outside the namespace of its object; nil for one in a
	// namespace. It is no input.
	Owner *metav1.OwnerReference
	// Config is the kind and name of the configuration, for error messages. The
	// digest is without it: a configuration may be renamed.
	Config string
	// Credentials for the working directory.
	Credentials []File
	// Requirements is the text of the configuration's requirements.yml.
	Requirements string
	// Env is the environment that the configuration sets for ansible-galaxy and the play.
	Env map[string]string
	// PlayEnv are the variables that only the play has: what the configuration sets, then
	// what the run sets, which wins. See ForPlay.
	PlayEnv []File
	// Verification of what is installed; nil for none. The digest is without it: it
	// decides whether content is installed, not which.
	Verification *common.Verification
	// Execution says where the run is carried out, defaults filled in. An empty place is the
	// provider. The digest is without it: a run may move.
	Execution common.Execution
	// Approval is true if the run, or its configuration, requires approvals.
	Approval bool
	// Grant is what the configuration allows beyond what every run may do.
	Grant sandbox.Grant
	// Kubernetes is how the run reaches the API server; nil if it does not.
	Kubernetes *Kubernetes
}

// ForPlay is the environment that the configuration and the run set for the play. Of several variables with the same
// name the last one counts.
func (in Inputs) ForPlay() map[string]string {
	env := maps.Collect(maps.All(in.Env))
	for _, v := range in.PlayEnv {
		env[v.Name] = v.text()
	}

	return env
}

// ForDeletion returns the inputs of the run that removes what the object has made.
func (in Inputs) ForDeletion() Inputs {
	if in.Parameters.OnDelete.Replaces() {
		in.Roles = in.Required[len(in.Roles):]
	}

	in.Parameters = in.Parameters.ForDeletion()

	return in
}

// RequiredRoles are those to be installed.
func (in Inputs) RequiredRoles() []common.Role {
	if len(in.Required) > 0 {
		return in.Required
	}

	return in.Roles
}

// IsProjectPlaybook is true for a playbook of a project. Any other is one of a collection.
func IsProjectPlaybook(name string) bool {
	return strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml")
}

// Kubernetes says with which rights a run reaches the API server of the provider's own cluster.
type Kubernetes struct {
	// Namespace and name of the ServiceAccount.
	Namespace      string `json:"namespace"`
	ServiceAccount string `json:"serviceAccount"`
	// OwnerReferences makes the AnsibleRun the owner of what the run creates.
	OwnerReferences bool `json:"ownerReferences,omitempty"`
	// WatchDependents labels what the run writes, for a watch. Ignore are kinds that are not
	// watched. The digest is without both: they are about what happens after the run.
	WatchDependents bool               `json:"watchDependents,omitempty"`
	Ignore          []common.GroupKind `json:"ignore,omitempty"`
}

// Watches is true for a kind of dependents that is watched.
func (k Kubernetes) Watches(d common.DependentKind) bool {
	gv, _ := schema.ParseGroupVersion(d.APIVersion) // It was checked where it comes from.

	return k.WatchDependents && !slices.Contains(k.Ignore, common.GroupKind{Group: gv.Group, Kind: d.Kind})
}
