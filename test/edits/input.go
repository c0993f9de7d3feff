package edits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// playbook writes its variables to the ledger when it begins and ends.
const playbook = `- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.shell: |
      echo {{ line }} begins >> {{ ledger }}
      sleep 0.2
      echo {{ line }} ends >> {{ ledger }}
    vars:
      ledger: "{{ (directory ~ '/ledger') | quote }}"
      meta: "{{ ansible_provider_meta }}"
      line: "{{ [thing, form, value, upstream, meta.managed_resource.state, meta.run.id] | map('quote') | join(' ') }}"
  - ansible.builtin.set_stats: {data: {value: "{{ thing }}:{{ value }}", list: "{{ list | default([]) }}"}}
`

// fieldName of runs, items and metadata.
const fieldName = "name"

// Input of the function. It writes the number of its step to the status of the XR.
func (s *Session) Input(step int) map[string]any {
	runs := make([]any, 0, len(s.state.Plans))
	for _, p := range s.state.Plans {
		runs = append(runs, s.run(p))
	}
	in := map[string]any{
		"apiVersion": "ansible.fn.crossplane.io/v1alpha1", "kind": "AnsibleRuns",
		"defaults": map[string]any{
			"runPolicy": "RunOnChange", "providerConfigRef": map[string]any{
				"kind":    "ProviderConfig",
				fieldName: "default",
			}, "playbookInline": playbook,
		},
		"runs":   runs,
		"status": map[string]any{"composition": step, "xr": "${xr.spec.step}"},
	}
	if slices.Contains(s.sources, OfRequired) {
		in["requiredResources"] = map[string]any{"net": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"matchName": "net",
		}}
	}
	return in
}

func (s *Session) run(p plan) map[string]any {
	vars := map[string]any{
		"directory": s.Directory, "origin": fmt.Sprintf("o%d", p.Origin), "thing": p.Thing, "form": "single",
		"upstream": "none", "value": fmt.Sprintf("c%d", p.Literal),
	}
	run := map[string]any{fieldName: p.Name, "vars": vars, "labels": map[string]any{"plan": fmt.Sprint(p.ID)}}
	if p.Source != "" {
		fields := map[string]string{OfXR: "", OfRequired: ".data.x", OfEnvironment: ".x", OfMachine: ".status.x"}
		path := paths[p.Source]
		if p.Source == OfMachine {
			path = "resources.machine"
		}
		vars["value"] = fmt.Sprintf("c%d.x${string(%s)}", p.Literal, path+fields[p.Source])
	}
	if p.Items != nil {
		vars["list"] = listOf(p.Items)
	}
	if p.set() {
		vars["thing"], vars["form"] = p.Prefix+"${each.value.id}", "each"
		run["forEach"], run["forEachKey"] = "${xr.spec.lists."+p.List+"}", "${each.value."+p.Key+"}"
		if p.AtMost >= 0 {
			run["removal"] = map[string]any{"atMost": p.AtMost}
		}
		if p.ID%2 == 0 {
			run["atATime"] = 1
		}
	}
	if p.Of != 0 {
		run["forEach"] = "${runs." + s.state.plan(p.Of).Name + ".outputs.list}"
	}
	if p.When != "" {
		run["when"] = "${xr.spec.toggles." + p.When + "}"
	}
	if p.Previous != nil {
		run["previousNames"] = s.previousNames(p)
	}
	if p.Keep {
		run["prune"] = false
	}
	if p.Loose {
		run["usages"] = false
	}
	after := []any{}
	for _, id := range p.After {
		after = append(after, s.state.plan(id).Name)
	}
	if len(after) > 0 {
		run["dependsOn"] = after
	}
	var up []string
	for _, id := range p.Refs {
		on := s.state.plan(id)
		value := "runs." + on.Name + ".outputs.value"
		switch {
		case p.paired(on):
			value = "runs." + on.Name + "[each.key].outputs.value"
		case on.set():
			value = "runs." + on.Name + ".transformList(k, r, r.outputs.value).join('+')"
		}
		up = append(up, fmt.Sprintf("p%d=${%s}", id, value))
	}
	if len(up) > 0 {
		vars["upstream"] = strings.Join(up, "/")
	}
	return run
}

func (s *Session) previousNames(p plan) []any {
	names, output := []any{}, ""
	for _, id := range p.Refs {
		if on := s.state.plan(id); !on.set() && on.When == "" && len(on.needs()) == 0 {
			output = "runs." + on.Name + ".outputs.value"
		}
	}
	for _, f := range p.Previous {
		names = append(names, f.text(p.Form, output))
	}
	return names
}

func listOf(items []item) []any {
	list := []any{}
	for _, i := range items {
		list = append(list, map[string]any{fieldName: i.Name, "id": i.ID})
	}
	return list
}

// Spec of the XR, with the number of its step.
func (s *Session) Spec(step int) map[string]any {
	lists := map[string]any{}
	for name, items := range s.state.Lists {
		lists[name] = listOf(items)
		if items == nil {
			lists[name] = "text"
		}
	}
	spec := map[string]any{"lists": lists, "toggles": maps.Clone(s.state.Toggles), "step": step}
	if v := s.state.Values[OfXR]; v != nil {
		spec["value"] = v
	}
	return spec
}

// Allowed is the annotation of the XR that allows removals.
func (s *Session) Allowed() string {
	var allow []string
	for _, name := range slices.Sorted(maps.Keys(s.state.Allowed)) {
		allow = append(allow, fmt.Sprintf("%s=%d", name, s.state.Allowed[name]))
	}
	return strings.Join(allow, ",")
}
