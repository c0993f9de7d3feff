package expression

import "maps"

const connectionDetails = "connectionDetails"

// Declarations declare the variables of expressions. Schemas are OpenAPI v3; nil allows any value.
type Declarations struct {
	// Runs are the runs by name: true for a run with forEach, which is a map by key.
	Runs map[string]bool
	// Required are the required resources by name: true for a list, which labels select.
	Required map[string]bool
	// Resources are the schemas of the resources of other steps by composition resource name; nil allows any name.
	Resources map[string]map[string]any
	// Each is true if expressions may use each.key and each.value.
	Each bool
	// Item is the schema of each.value.
	Item map[string]any
	// Details is true if expressions may use the connection details of runs and resources.
	Details bool
	// Operation is true for an Operation, which has no XR, no observed runs and no composed resources.
	Operation bool
	// Locals are the locals of the input; nil for none. A local that is not compiled yet may have any type.
	Locals *Locals
	// Schema is the schema of the XR.
	Schema map[string]any
	// Run is the schema of an AnsibleRun.
	Run map[string]any
}

// schemas returns the schemas of the roots with a fixed set of fields, by root.
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

// missingInOperation has the messages about roots that do not exist in an Operation.
var missingInOperation = map[string]string{ //nolint:gochecknoglobals // It is a constant.
	rootXR: "there is no XR", rootRuns: "there are no observed runs", rootResources: "there are no composed resources",
}

// collection returns the schema of a root with named fields: many for a name that is true, one for others.
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

// run returns the schema of a run, which has parts of the schema of an AnsibleRun.
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

// details returns the schema of connection details by field name; nil if expressions may not use them.
func (d Declarations) details() map[string]any {
	if !d.Details {
		return nil
	}

	return map[string]any{connectionDetails: mapOf(typed(String))}
}
