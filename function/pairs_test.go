package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestPairs checks that a member depends on the member with the same key of another set.
func TestPairs(t *testing.T) {
	const fleet = `
  - {name: base, forEach: "${xr.spec.hosts}"}
  - {name: app, forEach: "${xr.spec.hosts}", vars: {url: "${runs.base[each.key].outputs.url}"}}`

	base := func(key string) string { return existing("base["+key+"]", "", "role: a.b.c") }
	app := func(key string) string {
		return existing("app["+key+"]", "base["+key+"]", "role: a.b.c, unsafeVars: {url: there}")
	}
	busy := func(o string) string {
		return strings.Replace(o, `type: Ready, status: "True"`, `type: Ready, status: "False"`, 1)
	}

	cases := map[string]step{
		"Ready": {
			reason: "A member waits only for the member with its key.",
			runs:   fleet, spec: "hosts: [a, b]", observed: base("a") + busy(base("b")),
			want: "app[a], app[a] uses base[a], base[a], base[b]", said: "Running base[b]: is running\napp[a]: is running\nDependencyNotReady:\napp[b]: waiting for base[b]",
		},
		"Usages": {
			reason: "A member has a Usage only of the member with its key.",
			runs:   fleet, spec: "hosts: [a, b]", observed: base("a") + base("b") + app("a") + app("b"),
			want: "app[a], app[a] uses base[a], app[b], app[b] uses base[b], base[a], base[b]", said: "Available",
		},
		"Leaving": {
			reason: "A member is removed only before the member with its key.",
			runs:   fleet, spec: "hosts: [a]", observed: base("a") + base("b") + app("a") + app("b"),
			want: "app[a], app[a] uses base[a], app[b] uses base[b], base[a], base[b]", said: "Leaving base[b]: not wanted any more, but has to stay for app[b]",
		},
		"Left": {
			reason: "A member without a dependent is removed at once.",
			runs:   fleet, spec: "hosts: [a]", observed: base("a") + base("b") + app("a"),
			want: "app[a], app[a] uses base[a], base[a]", said: "Available",
		},
		"Unwanted": {
			reason: "A member with a key that the other set does not have is not created. An existing one stays.",
			runs: `
  - {name: base, forEach: "${xr.spec.hosts}", when: "${each.key != 'b' && each.key != 'c'}"}
  - {name: app, forEach: "${xr.spec.hosts}", vars: {url: "${runs.base[each.key].outputs.url}"}}`,
			spec: "hosts: [a, b, c]", observed: base("a") + base("b") + app("a") + app("b"),
			want: "app[a], app[a] uses base[a], app[b], app[b] uses base[b], base[a], base[b]",
			said: "ValueNotSet app[b]: vars.url: runs.base[\"b\"] is not wanted any more; it stays as it is: to do without, write runs.base[?each.key] and what else it may be, and to remove it, too, give it the same when\n" +
				"Leaving:\nbase[b]: not wanted any more, but has to stay for app[b]\nSkipped:\napp[c]: not wanted, for it refers to base, which is not wanted",
		},
		"Whole": {
			reason: "A member that also refers to the whole set waits for all members, and has Usages of all.",
			runs: `
  - {name: base, forEach: "${xr.spec.hosts}"}
  - {name: app, forEach: "${xr.spec.hosts}", vars: {url: "${runs.base[each.key].outputs.url}", all: "${runs.base.size()}"}}`,
			spec: "hosts: [a, b]", observed: base("a") + busy(base("b")),
			want: "base[a], base[b]", said: "Running base[b]: is running\nDependencyNotReady:\napp[a]: waiting for base\napp[b]: waiting for base",
		},
	}

	check(t, cases)

	// This is the largest number of members.
	hosts, observed := make([]string, 0, 1000), strings.Builder{}
	for i := range 1000 {
		key := fmt.Sprintf("h%d", i)
		hosts = append(hosts, key)
		observed.WriteString(base(key) + app(key))
	}

	rsp := step{runs: fleet, spec: "hosts: [" + strings.Join(hosts, ",") + "]", observed: observed.String()}.respond(t)
	if n := len(rsp.GetDesired().GetResources()); n != 3000 || said(rsp) != "Available" {
		t.Errorf("1000 pairs should have as many Usages, got %d composed resources: %.400s", n, said(rsp))
	}
}
