package e2e

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// A section of the documentation.
type section struct {
	// Manifests in their order, and the inputs of the function among them.
	Manifests []*unstructured.Unstructured
	// Commands by the heading that they are under.
	Commands map[string][]string
}

// sections of a page by their headings of the second level.
func sections(t *testing.T, file string) map[string]section {
	t.Helper()

	out := map[string]section{}

	for _, text := range strings.Split("\n"+readFile(t, file), "\n## ")[1:] {
		title, _, _ := strings.Cut(text, "\n")
		s := section{Commands: map[string][]string{}}

		for below := range strings.SplitSeq(text, "\n### ") {
			heading, _, _ := strings.Cut(below, "\n")

			for _, m := range fences.FindAllStringSubmatch(below, -1) {
				if m[1] != "yaml" {
					s.Commands[heading] = append(s.Commands[heading], m[2])

					continue
				}

				us, err := Parse(m[2], nil)
				needs.OK(t, err)

				s.Manifests = append(s.Manifests, us...)
			}
		}

		out[title] = s
	}

	return out
}

// inputOf is a Composition for a kind of XR with an input of the function.
const inputOf = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: %[2]s.example.org}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: %[1]s}
  mode: Pipeline
  pipeline:
  - step: ansible
    functionRef: {name: function-ansible}
    input: %[3]s
---
`

// manifests of a section as they can be applied: an input becomes a Composition
// for the kind of XR that follows it, which becomes a definition with anything
// in its spec, and what the input says in its status.
func (s section) manifests(t *testing.T) (all string, xrs []Object) {
	t.Helper()

	var input *unstructured.Unstructured

	b := &strings.Builder{}

	for _, u := range s.Manifests {
		if u.GetKind() == "AnsibleRuns" {
			input = u

			continue
		}

		if strings.HasPrefix(u.GetAPIVersion(), "example.org/") {
			xrs = append(xrs, ObjectOf(u))
			plural := strings.ToLower(u.GetKind()) + "s"

			var status []string

			composition := ""

			if input != nil {
				fields, _, _ := unstructured.NestedMap(input.Object, "status")
				for name := range fields {
					status = append(status, name+": {x-kubernetes-preserve-unknown-fields: true}")
				}

				composition = fmt.Sprintf(inputOf, u.GetKind(), plural, inYAML(t, input))
				input = nil
			}

			d := definition{group: "example.org", kind: u.GetKind(), scope: "Namespaced", status: strings.Join(status, ", ")}
			b.WriteString(d.String() + composition)
		}

		b.WriteString(inYAML(t, u) + "\n---\n")
	}

	return b.String(), xrs
}

// inYAML is an object in one line.
func inYAML(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()

	b, err := u.MarshalJSON()
	needs.OK(t, err)

	return strings.TrimSpace(string(b))
}

// shop is the collection of the examples. Each of its roles notes what it does
// for which XR, with some variable, and publishes what others want to know.
func shop(dir string) collection {
	role := func(note, stats string) string {
		return `
- ansible.builtin.shell: echo "{{ ansible_provider_meta.managed_resource.labels['crossplane.io/composite'] | default('removed') }}" ` + note + ` {{ ansible_provider_meta.managed_resource.state }} >> ` + dir + `/ledger
- ansible.builtin.set_stats: {data: {` + stats + `}}
`
	}
	return collection{Namespace: "acme", Name: "shop", Version: "1.0.0", Files: map[string]string{
		"roles/server/tasks/main.yml":   role("{{ ansible_host }}", "address: '{{ ansible_host }}:80'"),
		"roles/balancer/tasks/main.yml": role("{{ (['balancer'] + backends) | join('-') }}", "backends: '{{ backends }}'"),
		"roles/network/tasks/main.yml":  role("network", "cidr: '{{ cidr }}'"),
		"roles/database/tasks/main.yml": role("database", `endpoint: 'db.example.org', connection_details: {password: '{{ admin_password | default("unknown") | reverse }}'}`),
		"roles/app/tasks/main.yml":      role(`"app {{ host | default('') }}{{ memory | default('') }}{{ mirror | default('') }}{{ password | default('') | replace(' ', '_') }}"`, "app: true"),
		"roles/report/tasks/main.yml":   role("report", "report: true"),
		"roles/notice/tasks/main.yml": role("notice", "text: '{{ text }}'") + `
- name: Put the notice up
  ansible.builtin.copy: {dest: ` + dir + `/text, content: "{{ text }}"}
`,
		"roles/backup/tasks/main.yml": role("backup", "file: '/backup/{{ store }}'"),
	}}
}

// machines are a kind of another provider.
const machines = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machines.cloud.example.org}
spec:
  scope: Namespaced
  group: cloud.example.org
  names: {kind: Machine, plural: machines}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// preview has an XR say what is a preview, by the input that is documented.
func preview(t *testing.T, s section, dir string) {
	t.Helper()

	i := slices.IndexFunc(s.Manifests, func(m *unstructured.Unstructured) bool {
		runs, _, _ := unstructured.NestedSlice(m.Object, "runs")
		return len(runs) > 0 && strings.Contains(fmt.Sprint(runs[0]), "CheckWhenObserve")
	})
	input := s.Manifests[i].DeepCopy()
	needs.OK(t, unstructured.SetNestedField(input.Object, "shop", "defaults", "providerConfigRef", "name"))

	xr := Object{APIVersion: "example.org/v1", Kind: "Draft", Namespace: "default", Name: "draft"}
	edit := func(spec string) {
		cp.Apply(t, "{apiVersion: example.org/v1, kind: Draft, metadata: {namespace: default, name: draft}, spec: "+spec+"}", nil)
	}
	applied := func() (n int) {
		for _, l := range lines(t, dir) {
			if l == "draft-notice-present" {
				n++
			}
		}

		return n
	}

	cp.Apply(t, definition{group: "example.org", kind: "Draft", scope: "Namespaced"}.String()+fmt.Sprintf(inputOf, "Draft", "drafts", inYAML(t, input)), nil)
	edit("{text: One}")
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"))

	run := composedRun(t, xr)

	edit("{text: Two, preview: true}")

	u := cp.WaitFor(t, run, That("drift", func(u *unstructured.Unstructured) bool { return Value(u, "status.atProvider.drift") != nil }))
	if !strings.Contains(fmt.Sprint(Value(u, "status.atProvider.drift")), "Put the notice up") || readFile(t, dir+"/text") != "One" || applied() != 1 {
		t.Errorf("A preview should say what would change, and change nothing, got %v", Value(u, "status.atProvider"))
	}

	edit("{text: Two}")
	cp.WaitFor(t, run, Field("spec.forProvider.unsafeVars.text", "Two"), Condition("Ready", "True"), That("no drift", func(u *unstructured.Unstructured) bool { return Value(u, "status.atProvider.drift") == nil }))
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"))

	if got := readFile(t, dir+"/text"); got != "Two" || applied() != 2 {
		t.Errorf("Then it should be applied once, got %q after %d", got, applied())
	}
}

// TestPatterns applies the examples of the patterns, as they are, and sees that
// what is said of them is true. The roles are made for the test, and so are the
// definitions of the XRs, which can have anything in them.
func TestPatterns(t *testing.T) {
	t.Parallel()
	cp.Functions(t, functionAutoReady, functionEnvironments, functionPatches)

	dir, page := directory(t), sections(t, "../../docs/patterns.md")

	config := documented(t, "../../docs/patterns.md")[0]
	needs.OK(t, unstructured.SetNestedStringMap(config.Object, map[string]string{
		"ANSIBLE_GALAXY_SERVER": served(t, sources.NewGalaxy(t, shop(dir).Tarball(t))),
		// There are no such hosts.
		"ANSIBLE_TRANSPORT":          "local",
		"ANSIBLE_PYTHON_INTERPRETER": python(),
	}, "spec", "vars"))
	cp.Apply(t, inYAML(t, config), nil)

	// noted are the lines for an XR.
	noted := func(t *testing.T, xr Object) []string {
		t.Helper()

		var out []string

		for _, l := range lines(t, dir) {
			if l, ok := strings.CutPrefix(l, xr.Name+"-"); ok {
				out = append(out, l)
			}
		}

		return slices.Compact(out)
	}

	checks := map[string]func(t *testing.T, s section, xrs []Object){
		"Fan-out over hosts": func(t *testing.T, s section, xrs []Object) { //nolint:thelper // It is the test.
			cp.WaitFor(t, xrs[0], Field("status.servers", "map[web-1:web-1.example.org:80 web-2:web-2.example.org:80]"))

			if got, want := noted(t, xrs[0]), "balancer-web-1.example.org:80-web-2.example.org:80-present"; len(got) != 3 || got[2] != want {
				t.Errorf("The balancer should come after the servers, got %q", got)
			}

			u := s.Manifests[1].DeepCopy()
			servers, _, _ := unstructured.NestedSlice(u.Object, "spec", "servers")
			needs.OK(t, unstructured.SetNestedSlice(u.Object, servers[:1], "spec", "servers"))
			cp.Apply(t, inYAML(t, u), nil)

			// What is taken off an XR has lost its label by the time that it goes.
			gone := "removed-web-2.example.org-absent"
			Eventually(t, "the end of the second server", func() bool { return slices.Contains(lines(t, dir), gone) })

			if got := lines(t, dir); slices.Index(got, "web-balancer-web-1.example.org:80-present") > slices.Index(got, gone) || len(noted(t, xrs[0])) != 4 {
				t.Errorf("A server should be taken off the balancer first, got %q", got)
			}
		},
		"Rolling changes": func(t *testing.T, s section, xrs []Object) { //nolint:thelper // It is the test.
			u := s.Manifests[1].DeepCopy()
			needs.OK(t, unstructured.SetNestedField(u.Object, "17", "spec", "version"))
			cp.Apply(t, inYAML(t, u), nil)

			want := []string{
				"mail-1.example.org-present", "mail-2.example.org-present", "mail-3.example.org-present", "report-present",
				"mail-1.example.org-present", "mail-2.example.org-present", "mail-3.example.org-present",
			}
			Eventually(t, "the new version everywhere", func() bool { return len(noted(t, xrs[0])) >= len(want) })

			if got := noted(t, xrs[0]); !slices.Equal(want, got) {
				t.Errorf("One server should be changed after the other: want %q, got %q", want, got)
			}
		},
		"Order": func(t *testing.T, _ section, xrs []Object) { //nolint:thelper // It is the test.
			composed := cp.Composed(t, xrs[0])

			usages := 0
			for _, o := range composed {
				if o.Kind == "Usage" {
					usages++
				}
			}

			if usages != 2 {
				t.Errorf("Runs should be used by those that depend on them, and ask for usages: want 2, got %v", composed)
			}

			cp.Kubectl(t, "delete", "stacks.example.org", "shop", "--cascade=foreground", "--timeout=10m")

			got := noted(t, xrs[0])
			got = slices.DeleteFunc(got, func(l string) bool { return l == "report-absent" })

			want := []string{
				"network-present", "database-present", "app--present", "report-present",
				"app--absent", "database-absent", "network-absent",
			}
			if !slices.Equal(want, got) {
				t.Errorf("want %q, got %q", want, got)
			}
		},
		"Secrets": func(t *testing.T, _ section, xrs []Object) { //nolint:thelper // It is the test.
			const password = "yrettab esroh tcerroc"

			if got, want := noted(t, xrs[0]), []string{"database-present", "app-" + strings.ReplaceAll(password, " ", "_") + "-present"}; !slices.Equal(want, got) {
				t.Errorf("The app should get what the database has made: want %q, got %q", want, got)
			}

			cp.WaitFor(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: "default", Name: "inventory-connection"},
				Field("data.password", base64.StdEncoding.EncodeToString([]byte(password))))

			for _, o := range append([]Object{xrs[0]}, cp.Composed(t, xrs[0])...) {
				b, err := yaml.Marshal(cp.Get(t, o).Object)
				needs.OK(t, err)

				if o.Kind != "Secret" && strings.Contains(string(b), password) {
					t.Errorf("%s shows the password", o)
				}
			}
		},
		"Environments": func(t *testing.T, _ section, xrs []Object) { //nolint:thelper // It is the test.
			if got, want := noted(t, xrs[0]), []string{"app-www.eu.example.org8Gihttps://mirror.example.org-present"}; !slices.Equal(want, got) {
				t.Errorf("The environment should be merged: want %q, got %q", want, got)
			}
		},
		"A machine, and what is on it": func(t *testing.T, _ section, xrs []Object) { //nolint:thelper // It is the test.
			u := cp.WaitFor(t, xrs[0], That("a usage", func(u *unstructured.Unstructured) bool { return len(ComposedOf(u)) == 3 }))
			machine := Object{APIVersion: "cloud.example.org/v1", Kind: "Machine", Namespace: "default"}

			for _, o := range ComposedOf(u) {
				if o.Kind == machine.Kind {
					machine = o
				}
			}

			cp.WaitFor(t, machine, LabelInUse())

			cp.Delete(t, xrs[0])
			cp.WaitFor(t, machine, That("its deletion", func(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }))

			if got, want := noted(t, xrs[0]), []string{"node-1.example.org-present", "node-1.example.org-absent"}; !slices.Equal(want, got) {
				t.Errorf("The machine should be there until it is cleaned up: want %q, got %q", want, got)
			}

			cp.Kubectl(t, "patch", "machines.cloud.example.org", machine.Name, "--namespace=default", "--type=merge", `--patch={"metadata": {"finalizers": null}}`)
			cp.WaitGone(t, xrs[0])
		},
		"Day two": func(t *testing.T, s section, xrs []Object) { //nolint:thelper // It is the test.
			sh := newShell(t)
			run := composedRun(t, xrs[0])
			cp.WaitFor(t, xrs[0], Field("status.text", "Closed on Sundays"))

			sh.Run(t, s.Commands["Run now"][0])
			cp.WaitFor(t, run, Field("status.atProvider.lastRun.trigger", "Requested"), Field("status.atProvider.lastRun.phase", "Succeeded"))

			if out := sh.Run(t, s.Commands["Preview a change"][0]); !strings.Contains(out, "Put the notice up") {
				t.Errorf("The preview should say what would change, got\n%s", out)
			}

			if got := readFile(t, dir+"/text"); got != "Closed on Sundays" {
				t.Errorf("The preview should change nothing, got %q", got)
			}

			sh.Run(t, s.Commands["Preview a change"][1])
			cp.WaitFor(t, xrs[0], Condition("Ready", "True"), Field("status.text", "Closed on Mondays"))

			sh.Run(t, s.Commands["Pause"][0])
			cp.WaitFor(t, run, Reason("Synced", "ReconcilePaused"))
			cp.WaitFor(t, xrs[0], Reason("Synced", "ReconcilePaused"))
			sh.Run(t, strings.ReplaceAll(s.Commands["Pause"][0], "paused=true", "paused-"))
			cp.WaitFor(t, run, Reason("Synced", "ReconcileSuccess"))

			// One that is done asks again.
			i := slices.IndexFunc(s.Manifests, func(m *unstructured.Unstructured) bool { return m.GetKind() == "Operation" })
			again := s.Manifests[i].DeepCopy()
			again.SetName("backup-again")

			nightly := Object{APIVersion: apiNamespaced, Kind: "AnsibleRun", Namespace: "default", Name: "nightly-backup"}
			t.Cleanup(func() { cp.CleanUp(t, nightly) })
			cp.WaitFor(t, nightly, Condition("Ready", "True"), Field("status.atProvider.lastRun.trigger", "Created"))
			cp.WaitFor(t, cp.Apply(t, inYAML(t, again), nil)[0], Condition("Succeeded", "True"))
			cp.WaitFor(t, nightly, Condition("Ready", "True"), Field("status.atProvider.lastRun.trigger", "Requested"), Field("status.atProvider.lastRun.phase", "Succeeded"))

			preview(t, s, dir)

			// It leaves a backup behind.
			backup := composedRun(t, xrs[1])
			cp.WaitFor(t, xrs[1], Field("status.file", "/backup/inventory"))
			cp.Delete(t, xrs[1])
			cp.WaitGone(t, backup)

			if got, want := noted(t, xrs[1]), []string{"backup-present"}; !slices.Equal(want, got) {
				t.Errorf("A backup should be made, and be left alone: want %q, got %q", want, got)
			}
		},
	}

	// There is no provider for machines: the test writes their status, and their finalizers.
	cp.Apply(t, machines, nil)

	prepare := map[string]func(t *testing.T, xr Object){
		"A machine, and what is on it": func(t *testing.T, xr Object) { //nolint:thelper // It is the test.
			u := cp.WaitFor(t, xr, Reason("AnsibleRunsReady", "DependencyNotReady"), That("a machine", func(u *unstructured.Unstructured) bool { return len(ComposedOf(u)) == 1 }))
			cp.Kubectl(t, "patch", "machines.cloud.example.org", ComposedOf(u)[0].Name, "--namespace=default", "--subresource=status", "--type=merge",
				`--patch={"status": {"address": "node-1.example.org", "conditions": [{"type": "Ready", "status": "True"}]}}`)
			cp.Kubectl(t, "patch", "machines.cloud.example.org", ComposedOf(u)[0].Name, "--namespace=default", "--type=merge", `--patch={"metadata": {"finalizers": ["cloud.example.org/machine"]}}`)
		},
	}

	for title, s := range page {
		t.Run(strings.ReplaceAll(title, " ", ""), func(t *testing.T) {
			t.Parallel()

			check := checks[title]
			if len(s.Manifests) > 0 && check == nil {
				t.Fatalf("there are manifests under %q that this test does not know", title)
			}

			manifests, xrs := s.manifests(t)
			cp.Apply(t, strings.NewReplacer("[[", `[["[["]]`).Replace(manifests), nil)

			for _, xr := range xrs {
				if p := prepare[title]; p != nil {
					p(t, xr)
				}

				cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("Synced", "True"), Condition("AnsibleRunsReady", "True"))
			}

			if check != nil {
				check(t, s, xrs)
			}
		})
	}
}
