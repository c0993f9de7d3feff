// Package inputs has the values of a run that users control, with resolved references: parameters, files,
// configuration. The resolver of provider/config makes Inputs. They are validated, and executed by provider/runner. A
// changed digest means that a run is due.
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

// A File is the data of a resolved reference.
type File struct {
	// Name is the file name of a credential in the working directory, or the name of an environment variable. For other
	// files, it names the source in error messages.
	Name string
	// Data of the file.
	Data []byte
	// Path is the path of an inventory in the project, without Data; empty for other files.
	Path string
	// Secret is true for data that must never be reported. From is the source of the data.
	Secret bool
	From   redact.Source
	// Rotates names the source of a credential with rotates: true. The digest has the source instead of the data. It is
	// empty for other files.
	Rotates string
}

// Find returns the file with a name; false if there is none.
func Find(files []File, name string) (File, bool) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}

	return files[i], true
}

// WithLineEnd returns the file with a line end at its end. ssh cannot read a private key without it, and it is easily
// lost when a Secret is made.
func (f File) WithLineEnd() File {
	if !bytes.HasSuffix(f.Data, []byte("\n")) {
		f.Data = append(bytes.Clone(f.Data), '\n')
	}

	return f
}

// Inputs are the inputs of a run.
type Inputs struct {
	// Parameters as written.
	Parameters common.AnsibleRunParameters
	// Roles are the roles in the parameters role or roles.
	Roles []common.Role
	// Required are the roles to install if onDelete has other roles: Roles, then the roles of onDelete. Every run
	// installs all of them, so that the roles of a deletion are known to be available before it.
	Required []common.Role
	// VarFiles in order, weakest first. Missing optional files are left out.
	VarFiles []File
	// Inventories in order, inventoryInline last.
	Inventories []File
	// Tree is a directory of this machine that is used as the project instead of its repository; empty for none. Only the
	// command line, for authors of content, sets it.
	Tree string
	// Owner is the owner of objects that the run needs outside the namespace of its AnsibleRun: a cluster scoped
	// configuration. It is nil for a configuration in a namespace. The digest is without it.
	Owner *metav1.OwnerReference
	// Config is the kind and name of the configuration, for error messages. The digest is without it: a configuration may
	// be renamed.
	Config string
	// Credentials for the working directory.
	Credentials []File
	// Requirements is the text of the configuration's requirements.yml.
	Requirements string
	// Env is the environment that the configuration sets for ansible-galaxy and the play.
	Env map[string]string
	// PlayEnv are the environment variables of the play alone: those of the configuration, then those of the run, which
	// take precedence. See ForPlay.
	PlayEnv []File
	// Verification of installed content; nil for none. The digest is without it: it decides whether content is installed,
	// but does not select content.
	Verification *common.Verification
	// Execution is the place of the run, with defaults. An empty place is the provider. The digest is without it: a run
	// may move to another place.
	Execution common.Execution
	// Approval is true if the run, or its configuration, requires approvals.
	Approval bool
	// Grant has the additional rights that the configuration gives to the run.
	Grant sandbox.Grant
	// Kubernetes is the access of the run to the API server; nil for none.
	Kubernetes *Kubernetes
}

// ForPlay returns the environment that the configuration and the run set for the play. The last of several variables
// with the same name takes precedence.
func (in Inputs) ForPlay() map[string]string {
	env := maps.Collect(maps.All(in.Env))
	for _, v := range in.PlayEnv {
		env[v.Name] = v.text()
	}

	return env
}

// ForDeletion returns the inputs of the deletion run.
func (in Inputs) ForDeletion() Inputs {
	if in.Parameters.OnDelete.Replaces() {
		in.Roles = in.Required[len(in.Roles):]
	}

	in.Parameters = in.Parameters.ForDeletion()

	return in
}

// RequiredRoles returns the roles to install.
func (in Inputs) RequiredRoles() []common.Role {
	if len(in.Required) > 0 {
		return in.Required
	}

	return in.Roles
}

// IsProjectPlaybook is true for the path of a playbook in a project. Other names are playbooks of collections.
func IsProjectPlaybook(name string) bool {
	return strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml")
}

// Kubernetes is the access of a run to the API server of the provider's own cluster.
type Kubernetes struct {
	// Namespace and name of the ServiceAccount.
	Namespace      string `json:"namespace"`
	ServiceAccount string `json:"serviceAccount"`
	// OwnerReferences makes the AnsibleRun the owner of objects that the run creates.
	OwnerReferences bool `json:"ownerReferences,omitempty"`
	// WatchDependents is true to label the objects that the run writes, and to watch them. Ignore are kinds that are not
	// watched. The digest is without both: they do not change the effect of the run.
	WatchDependents bool               `json:"watchDependents,omitempty"`
	Ignore          []common.GroupKind `json:"ignore,omitempty"`
}

// Watches is true for a kind of dependents that is watched.
func (k Kubernetes) Watches(d common.DependentKind) bool {
	gv, _ := schema.ParseGroupVersion(d.APIVersion) // The version is valid.

	return k.WatchDependents && !slices.Contains(k.Ignore, common.GroupKind{Group: gv.Group, Kind: d.Kind})
}
