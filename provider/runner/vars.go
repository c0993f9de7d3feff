package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
)

// operatorVariable is the variable in which an Ansible operator passes the metadata of an object to content.
const operatorVariable = "ansible_operator_meta"

// operatorMeta returns the name of the XR, or of an AnsibleRun without an XR, and its namespace.
func operatorMeta(o Object) map[string]any {
	return map[string]any{"name": cmp.Or(o.Owner.Name, o.Name), "namespace": o.Tenant()}
}

// varFiles returns the files of extra variables, weakest first.
func varFiles(run Spec) []file {
	p := run.Inputs.Parameters

	vars, unsafe := decode(p.Vars), decode(p.UnsafeVars)

	var texts [][]byte

	for _, f := range run.Inputs.VarFiles {
		texts = append(texts, f.Data)
	}

	if len(vars) > 0 {
		// Ansible tries to read JSON first. In JSON a mapping can be an encrypted value.
		text, _ := json.Marshal(vars) //nolint:errchkjson // The variables were decoded from JSON.
		texts = append(texts, append(text, '\n'))
	}

	state := map[string]any{}

	if s := p.StateVariable; s != nil {
		value := map[common.RunState]string{common.StatePresent: s.Present, common.StateAbsent: s.Absent}[run.State]
		// Only the API server sets the defaults of the field.
		state[s.Name] = cmp.Or(value, string(run.State))
	}

	own := map[string]any{common.ProviderVariable: meta(run)}

	// Content of Ansible operators uses this variable. A value of the user takes precedence.
	if vars[operatorVariable] == nil && unsafe[operatorVariable] == nil {
		own[operatorVariable] = operatorMeta(run.Object)
	}

	for _, vars := range []map[string]any{unsafe, state, own} {
		if len(vars) == 0 {
			continue
		}

		// YAML has tags for unsafe values. In JSON, Ansible takes some mappings for encrypted values.
		var b strings.Builder

		yamltext.WriteFlow(&b, yamltext.Unsafe{Value: vars})
		texts = append(texts, []byte(b.String()+"\n"))
	}

	files := make([]file, len(texts))
	for i, text := range texts {
		files[i] = file{Path: varsPath(i), Data: text}
	}

	return files
}

// varsPath returns the path of file i of variables in the private data directory.
func varsPath(i int) string { return path.Join(varsDir, fmt.Sprintf("%03d.yml", i)) }

// decode returns valid variables with numbers as json.Number, which keeps their text. It leaves out the provider's own
// variable, which only the provider may set.
func decode(raw *runtime.RawExtension) map[string]any {
	if raw == nil {
		return nil
	}

	d := json.NewDecoder(bytes.NewReader(raw.Raw))
	d.UseNumber()

	var vars map[string]any

	_ = d.Decode(&vars)
	delete(vars, common.ProviderVariable)

	return vars
}

// meta returns the provider's variable, with the metadata of the AnsibleRun and of the run. Content written for
// crossplane-contrib/provider-ansible looks for the state under the name of the object.
func meta(run Spec) map[string]any {
	o, annotations := run.Object, run.Object.Annotations
	if run.Inputs.Approval {
		annotations = o.approvable()
	}

	m := map[string]any{
		"managed_resource": map[string]any{
			"state":       string(run.State),
			"name":        o.Name,
			"namespace":   o.Namespace,
			"uid":         string(o.UID),
			"generation":  o.Generation,
			"labels":      values(o.Labels),
			"annotations": values(annotations),
		},
		"run": map[string]any{
			"id":      run.ID,
			"trigger": string(run.Trigger),
			"mode":    string(run.Mode),
			"attempt": run.Attempt,
		},
	}

	own, ok := m[o.Name].(map[string]any)
	if !ok {
		own = map[string]any{}
		m[o.Name] = own
	}

	own["state"] = string(run.State)

	return m
}

func values(m map[string]string) map[string]any {
	v := make(map[string]any, len(m))
	for k, s := range m {
		v[k] = s
	}

	return v
}
