package render

// foreign is true for what an earlier step of the pipeline composes, and no run of
// this one.
func (r *remover) foreign(resource string) bool {
	return r.runs.Observed.Earlier[resource] && r.plan.runOf(resource) == nil
}
