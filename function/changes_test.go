package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConditionChanges checks that the condition of an XR changes once for each run that is created or removed, and not back:
// each change of an XR makes core compose it once more.
func TestConditionChanges(t *testing.T) {
	// An AnsibleRun from its creation until it is ready: without a status, in progress, with conditions of an earlier
	// generation, and ready.
	stages := []string{
		"",
		"status: {}",
		"status: {atProvider: {lastRun: {phase: Queued, trigger: Created}}}",
		"status: {atProvider: {lastRun: {phase: Running, trigger: Created, currentTask: Install}}}",
		`status: {conditions: [{type: Ready, status: "False", reason: Creating, observedGeneration: 1}], atProvider: {lastRun: {phase: Running, trigger: Created}}}`,
		strings.ReplaceAll(readyOf, "observedGeneration: 1", "observedGeneration: 0"),
		readyOf,
	}

	var got []string

	there := ""

	for _, next := range []struct{ name, on string }{{"a", ""}, {"b", "a"}, {"c", "b"}} {
		for _, stage := range stages {
			run := ""
			if stage != "" {
				run = strings.Replace(existing(next.name, next.on, "role: a.b.c"), readyOf, stage, 1)
			}

			rsp := step{
				defaults: "usages: false", runs: "[{name: a}, {name: b, dependsOn: [a]}, {name: c, dependsOn: [b]}]",
				observed: "\n    none: {resource: {apiVersion: v1, kind: ConfigMap}}" + there + run,
			}.respond(t)

			if said := said(rsp); len(got) == 0 || got[len(got)-1] != said {
				got = append(got, said)
			}
		}

		there += existing(next.name, next.on, "role: a.b.c")
	}

	want := []string{
		"Running a: is running\nDependencyNotReady:\nb: waiting for a\nc: waiting for b",
		"Running b: is running\nDependencyNotReady:\nc: waiting for b",
		"Running c: is running",
		"Available",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RunFunction(...): -want, +got:\n%s", diff)
	}
}
