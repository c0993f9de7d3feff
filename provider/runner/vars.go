package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// metaVariable is the provider's own variable.
const metaVariable = inputs.ProviderVariable

// varFiles returns the files of extra variables, weakest first.
func varFiles(run Run) ([]File, error) {
	var files []File

	add := func(data []byte) {
		files = append(files, File{
			Path: varsPath(len(files)),
			Data: data,
			Mode: modeFile,
		})
	}

	for _, f := range run.Inputs.VarFiles {
		add(f.Data)
	}

	p := run.Inputs.Parameters

	vars, err := decode(p.Vars)
	if err != nil {
		return nil, errors.Wrap(err, "spec.forProvider.vars")
	}

	unsafe, err := decode(p.UnsafeVars)
	if err != nil {
		return nil, errors.Wrap(err, "spec.forProvider.unsafeVars")
	}

	if len(vars) > 0 {
		text, err := json.Marshal(vars)
		if err != nil {
			return nil, errors.Wrap(err, "spec.forProvider.vars")
		}

		// Ansible tries JSON first, in which mappings can stand for encrypted
		// values.
		add(append(text, '\n'))
	}

	if len(unsafe) > 0 {
		add(untemplated(unsafe))
	}

	if s := p.StateVariable; s != nil {
		if s.Name == metaVariable {
			return nil, errors.Errorf("spec.forProvider.stateVariable.name must not be %s", metaVariable)
		}

		add(untemplated(map[string]any{s.Name: stateValue(s, run.State)}))
	}

	add(untemplated(map[string]any{metaVariable: meta(run)}))

	return files, nil
}

// varsPath is where the file of variables with an index is.
func varsPath(i int) string { return path.Join(varsDir, fmt.Sprintf("%03d.yml", i)) }

// decode variables, with numbers as they are written. The provider's own is
// dropped: it must not seem to be set by anybody else.
func decode(raw *runtime.RawExtension) (map[string]any, error) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, nil
	}

	d := json.NewDecoder(bytes.NewReader(raw.Raw))
	d.UseNumber()

	vars := map[string]any{}
	if err := d.Decode(&vars); err != nil {
		return nil, errors.New("must be an object")
	}

	delete(vars, metaVariable)

	return vars, nil
}

// untemplated is a file of variables whose strings Ansible must not template. It
// is YAML, which has a tag for that, and in which mappings are what they are.
func untemplated(vars map[string]any) []byte {
	var b bytes.Buffer

	b.WriteString(unsafeTag)
	writeYAML(&b, vars)
	b.WriteByte('\n')

	return b.Bytes()
}

func stateValue(s *common.StateVariable, state common.RunState) string {
	v := s.Present
	if state == common.StateAbsent {
		v = s.Absent
	}

	return cmp.Or(v, string(state))
}

// meta is what the content is told about its AnsibleRun and the run. The entry
// under the object's name is for content written for provider-ansible.
func meta(run Run) map[string]any {
	o := run.Object

	m := map[string]any{
		"managed_resource": map[string]any{
			"state":       string(run.State),
			"name":        o.Name,
			"namespace":   o.Namespace,
			"uid":         string(o.UID),
			"generation":  o.Generation,
			"labels":      values(o.Labels),
			"annotations": values(o.Annotations),
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
