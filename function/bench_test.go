package main

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkCompile an input of a hundred runs with five expressions each, for the first
// time.
func BenchmarkCompile(b *testing.B) {
	var in strings.Builder

	in.WriteString("{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [")

	for i := range 100 {
		fmt.Fprintf(&in, `{name: run%d, role: a.b.c, vars: {a: "${xr.spec.a + %d}", b: "${xr.spec.b}", c: "${xr.metadata.name}-%d", d: "${xr.spec.d.map(x, x.y)}", e: "${has(xr.spec.e)}"}},`, i, i, i)
	}

	in.WriteString("]}")

	s := fromJSON(b, asJSON(b, in.String()))
	f := newFunction(b)

	for b.Loop() {
		if c := f.compositions.compile(s, use{namespaced: true}); len(c.errs) > 0 {
			b.Fatal(c.errs)
		}
	}
}
