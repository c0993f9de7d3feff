package expression

import "maps"

const connectionDetails = "connectionDetails"

// Declarations are what an Environment's expressions see. Schemas are OpenAPI v3.
type Declarations struct {
	// Runs by name: true for those that are made by forEach, which are maps by key.
	Runs map[string]bool
	// Required resources by name: true for those that are selected by labels, which are lists.
	Required map[string]bool
	// Resources that other steps compose, with their schemas as far as they are known; nil when there may be any.
	Resources map[string]map[string]any
	// Each is true where each.key and each.value are there.
	Each bool
	// Item is the schema of each.value; nil for anything.
	Item map[string]any
	// Details is true where runs have their connection details.
	Details bool
	// Operation is true where there is neither an XR nor anything observed of runs.
	Operation bool
	// Locals that expressions see; nil for none. Those of which nothing is compiled yet may be anything.
	Locals *Locals
	// Schema of the XR, if it is known. It says which fields there are, and which numbers are integers.
	Schema map[string]any
	// Run is the schema of an AnsibleRun; without it, fields of runs may be anything.
	Run map[string]any
}

// schemas of the roots that are closed, by name.
func (d Declarations) schemas() map[string]map[string]any {
	run := d.run()

	schemas := map[string]map[string]any{
		rootXR: objectOf(map[string]any{
			"apiVersion": typed(String), "kind": typed(String), "metadata": nil, "spec": nil, "status": nil,
		}),
		rootRuns:     collection(run, mapOf(run), d.Runs),
		rootRequired: collection(nil, listOf(nil), d.Required),
		rootLocals:   objectOf(d.Locals.schemas),
	}

	if len(d.Schema) > 0 {
		schemas[rootXR] = resource(d.Schema, nil)
	}

	if d.Each {
		schemas[rootEach] = objectOf(map[string]any{"key": typed(String), "value": d.Item})
	}

	if d.Resources != nil {
		resources := map[string]any{}

		for name, openAPI := range d.Resources {
			resources[name] = nil

			if len(openAPI) > 0 {
				resources[name] = resource(openAPI, d.details())
			}
		}

		schemas[rootResources] = objectOf(resources)
	}

	return schemas
}

// inOperation says what is missing in an Operation, by the names of roots.
var inOperation = map[string]string{ //nolint:gochecknoglobals // It is a constant.
	rootXR: "there is no XR", rootRuns: "there are no observed runs", rootResources: "there are no composed resources",
}

// collection returns the schema of a root with these names, each of one schema or, where true, of another one.
func collection(one, many map[string]any, names map[string]bool) map[string]any {
	fields := make(map[string]any, len(names))

	for n, isMany := range names {
		fields[n] = one
		if isMany {
			fields[n] = many
		}
	}

	return objectOf(fields)
}

// run returns the schema of a run, by that of an AnsibleRun if that is known.
func (d Declarations) run() map[string]any {
	fields := map[string]any{"metadata": nil, "spec": nil, "status": nil, "reported": nil, "ready": typed(Boolean)}

	for _, f := range []string{"outputs", "lastRun", "lastApply", "drift", "content"} {
		fields[f] = below(below(below(d.Run, "status"), "atProvider"), f)
	}

	maps.Copy(fields, d.details())

	if d.Run != nil {
		fields["metadata"], fields["spec"], fields["status"] = metadata(), below(d.Run, "spec"), below(d.Run, "status")
	}

	return objectOf(fields)
}

// details are the fields that only connectionDetails see.
func (d Declarations) details() map[string]any {
	if !d.Details {
		return nil
	}

	return map[string]any{connectionDetails: mapOf(typed(String))}
}
