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

// operatorVariable is the variable in which content finds what an Ansible operator tells it.
const operatorVariable = "ansible_operator_meta"

// operatorMeta is the name of the XR, or of the AnsibleRun if it has none, and the namespace that belongs
// to it.
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
		text, _ := json.Marshal(vars) //nolint:errchkjson // It was JSON.
		texts = append(texts, append(text, '\n'))
	}

	state := map[string]any{}

	if s := p.StateVariable; s != nil {
		value := map[common.RunState]string{common.StatePresent: s.Present, common.StateAbsent: s.Absent}[run.State]
		// The API server gives it defaults, and nothing else does.
		state[s.Name] = cmp.Or(value, string(run.State))
	}

	own := map[string]any{common.ProviderVariable: meta(run)}

	// Content of Ansible operators looks for it. If it has a value already, that stays.
	if vars[operatorVariable] == nil && unsafe[operatorVariable] == nil {
		own[operatorVariable] = operatorMeta(run.Object)
	}

	for _, vars := range []map[string]any{unsafe, state, own} {
		if len(vars) == 0 {
			continue
		}

		// It is YAML: JSON has no tags, and in JSON Ansible takes some mappings for encrypted values.
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

// varsPath of the file of variables with an index, in the private data directory.
func varsPath(i int) string { return path.Join(varsDir, fmt.Sprintf("%03d.yml", i)) }

// decode variables, which are valid, with numbers as they are written. The provider's own variable is
// left out: only the provider may set it.
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

// meta returns what the content is told about its AnsibleRun and the run. Content written for
// provider-ansible looks for the state under the object's name.
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
