package scaffold

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

const operatorProject = "testdata/cache-operator"

func TestWriteOperator(t *testing.T) {
	operator, err := LoadOperator(operatorProject, nil, "https://git.example.org/acme/cache-operator.git,1.0.0")
	if err != nil {
		t.Fatal(err)
	}

	documents, err := operator.Write()
	if err != nil {
		t.Fatal(err)
	}

	got := &bytes.Buffer{}
	for _, d := range documents {
		got.WriteString("--- # " + d.File + "\n")
		got.Write(d.Content)

		if path.Base(d.File) == "xrd.yaml" {
			served(t, d.Content, nil)
		}
	}

	const golden = "testdata/golden/cache-operator.yaml"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("Write(): -want, +got:\n%s", diff)
	}

	result, err := validate.Files(validate.File{Name: golden, Content: got.Bytes()})
	if err != nil || result.Inputs != 4 || len(result.Mistakes) > 0 {
		t.Errorf("validate.Files(...): %v: %v", err, result)
	}
}

// TestMovePage scaffolds what the page about moving an operator shows.
func TestMovePage(t *testing.T) {
	var yaml []string
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(readFile(t, "../../docs/move-operator.md"), -1) {
		yaml = append(yaml, m[1])
	}

	if len(yaml) != 3 {
		t.Fatalf("the page has %d blocks of YAML, this test knows 3", len(yaml))
	}

	// The project of the tests has more than the one of the page.
	const caches = "config/crd/bases/cache.example.org_caches.yaml"

	crd := strings.Replace(readFile(t, operatorProject+"/"+caches), "environment:", "owner:", 1)
	dir := changed(t, map[string]string{"watches.yaml": yaml[0], "galaxy.yml": yaml[1], caches: crd, "roles/cache/tasks/main.yml": "- ansible.builtin.debug: {var: ansible_operator_meta.name}\n"})

	operator, err := LoadOperator(dir, nil, "https://git.example.org/acme/cache-operator.git,1.0.0")
	if err != nil {
		t.Fatal(err)
	}

	documents, err := operator.Write()
	if err != nil {
		t.Fatal(err)
	}

	got := ""
	for _, d := range documents {
		got += string(d.Content)
	}

	if !strings.Contains(got, yaml[2]) {
		t.Errorf("the Composition should have what the page shows: want\n%s\ngot\n%s", yaml[2], got)
	}
}

// changed is a copy of the project with other files; those without text are gone.
func changed(t *testing.T, files map[string]string) string {
	t.Helper()

	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(operatorProject)); err != nil {
		t.Fatal(err)
	}

	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if text == "" {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}

			continue
		}

		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

func readFile(t *testing.T, file string) string {
	t.Helper()

	b, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

// entry of watches.yaml for a Cache, with more lines.
func entry(lines ...string) string {
	return "- group: cache.example.org\n  version: v1alpha1\n  kind: Cache\n  " + strings.Join(lines, "\n  ") + "\n"
}

func TestOperatorErrors(t *testing.T) {
	const caches = "config/crd/bases/cache.example.org_caches.yaml"

	crd := func(old, with string) string {
		s := readFile(t, operatorProject+"/"+caches)
		if !strings.Contains(s, old) {
			t.Fatalf("the definition has no %q", old)
		}

		return strings.Replace(s, old, with, 1)
	}

	cases := map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"NoWatches": {
			reason: "A directory without watches is no operator.",
			files:  map[string]string{"watches.yaml": ""},
			want:   "cannot read the watches of the operator",
		},
		"NoList": {
			reason: "The watches are a list.",
			files:  map[string]string{"watches.yaml": "kind: Cache\n"},
			want:   "cannot read watches.yaml, which must be a list",
		},
		"NoEntries": {
			reason: "There is nothing to write for no watches.",
			files:  map[string]string{"watches.yaml": "---\n"},
			want:   "watches.yaml has no entries",
		},
		"UnknownOption": {
			reason: "An option of a newer operator, or a misspelt one, is not lost.",
			files:  map[string]string{"watches.yaml": entry("role: cache", "reconcilePeriode: 1m")},
			want:   `entry 1 of watches.yaml: json: unknown field "reconcilePeriode"`,
		},
		"UnknownFinalizerOption": {
			reason: "Nor is one of the finalizer.",
			files:  map[string]string{"watches.yaml": entry("role: cache", "finalizer: {name: a/b, variables: {}}")},
			want:   `entry 1 of watches.yaml: json: unknown field "variables"`,
		},
		"Environment": {
			reason: "What only the operator's environment knows must be said.",
			files:  map[string]string{"watches.yaml": entry("role: ${SCAFFOLD_TEST_ROLE}")},
			want:   "watches.yaml refers to the operator's environment: set SCAFFOLD_TEST_ROLE for this command",
		},
		"NoContent": {
			reason: "A watch without content is none.",
			files:  map[string]string{"watches.yaml": entry("vars: {a: b}")},
			want:   "entry 1 of watches.yaml, Cache: one of role and playbook must be set",
		},
		"Period": {
			reason: "A period is a duration.",
			files:  map[string]string{"watches.yaml": entry("role: cache", "reconcilePeriod: soon")},
			want:   `entry 1 of watches.yaml: time: invalid duration "soon"`,
		},
		"TwoForOneKind": {
			reason: "The XRs of a kind have one Composition.",
			files:  map[string]string{"watches.yaml": entry("role: cache") + strings.Replace(entry("role: purge"), "v1alpha1", "v2", 1)},
			want:   "entry 2 of watches.yaml, Cache is the second one for its kind, after entry 1 of watches.yaml, Cache: the XRs of a kind have one Composition",
		},
		"NoDefinitions": {
			reason: "Without a definition nothing is known of an API.",
			files:  map[string]string{"config/crd": ""},
			want:   "the project has no CustomResourceDefinition in config/crd/bases or deploy/crds",
		},
		"NoDefinition": {
			reason: "Each kind has its own.",
			files:  map[string]string{caches: ""},
			want:   "entry 1 of watches.yaml, Cache: no file in config/crd/bases or deploy/crds defines the kind",
		},
		"OldDefinition": {
			reason: "Definitions of the old API have another form.",
			files:  map[string]string{caches: crd("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")},
			want: "cache.example.org_caches.yaml: a CustomResourceDefinition of apiextensions.k8s.io/v1beta1, which Kubernetes has not served since v1.22: " +
				"write it for apiextensions.k8s.io/v1",
		},
		"StoredOnly": {
			reason: "The version that an XRD stores is served.",
			files:  map[string]string{caches: crd("served: true", "served: false")},
			want:   "cache.example.org_caches.yaml: caches.cache.example.org does not serve the version that it stores, v1alpha1: of an XRD one version is both",
		},
		"CrossplanesField": {
			reason: "Crossplane would take the field for its own.",
			files:  map[string]string{caches: crd("environment:", "crossplane:")},
			want:   "entry 1 of watches.yaml, Cache: caches.cache.example.org, version v1alpha1: the field spec.crossplane: of an XR that is Crossplane's own",
		},
		"OtherField": {
			reason: "XRs have a spec and a status.",
			files:  map[string]string{caches: crd("          metadata:", "          data:")},
			want:   `entry 1 of watches.yaml, Cache: caches.cache.example.org, version v1alpha1: the field "data": XRs have no fields beside spec and status`,
		},
		"NoRole": {
			reason: "A role must be there.",
			files:  map[string]string{"watches.yaml": entry("role: other")},
			want:   "entry 1 of watches.yaml, Cache: cannot find the role other in the directory roles of the project",
		},
		"OutsideRole": {
			reason: "What is not in the project would not be published with it.",
			files:  map[string]string{"watches.yaml": entry("role: ../shared/cache")},
			want:   "entry 1 of watches.yaml, Cache: ../shared/cache is outside of the project, which is /opt/ansible in the operator's image",
		},
		"AbsoluteRole": {
			reason: "Nor would it be with another directory of the image.",
			files:  map[string]string{"watches.yaml": entry("role: /usr/share/ansible/roles/cache")},
			want:   "entry 1 of watches.yaml, Cache: /usr/share/ansible/roles/cache is outside of the project, which is /opt/ansible in the operator's image",
		},
		"RoleName": {
			reason: "Not every directory can be a role of a collection.",
			files:  map[string]string{"watches.yaml": entry("role: my-cache"), "roles/my-cache/tasks/main.yml": "[]"},
			want:   "entry 1 of watches.yaml, Cache: roles/my-cache: in a collection a name has letters, digits and underscores only; rename my-cache",
		},
		"RootPlaybook": {
			reason: "Nor every file a playbook of a collection.",
			files:  map[string]string{"watches.yaml": entry("playbook: site.yml"), "site.yml": "[]"},
			want:   "entry 1 of watches.yaml, Cache: the playbook site.yml is not in the directory playbooks of the project, where those of a collection are: move it there",
		},
		"NoPlaybook": {
			reason: "A playbook must be there.",
			files:  map[string]string{"watches.yaml": entry("playbook: /opt/ansible/playbooks/other.yml")},
			want:   "entry 1 of watches.yaml, Cache: cannot find the playbook playbooks/other.yml",
		},
		"NoGalaxy": {
			reason: "Content has a full name in a collection only.",
			files:  map[string]string{"galaxy.yml": ""},
			want: "entry 1 of watches.yaml, Cache: the project has no galaxy.yml: with one its roles and playbooks are a collection, which ansible-galaxy installs from git. " +
				`Write "namespace: acme", "name: cache", "version: 1.0.0", "readme: README.md" and "authors: [Acme]" into it`,
		},
		"WrongGalaxy": {
			reason: "A collection has names of its own form.",
			files:  map[string]string{"galaxy.yml": "namespace: acme\nname: cache-operator\n"},
			want:   "galaxy.yml must have a namespace and a name of letters, digits and underscores",
		},
		"FinalizerVariable": {
			reason: "A cleanup that does not know that it is one would be none.",
			files:  map[string]string{"watches.yaml": entry("role: cache", "finalizer: {name: a/b, vars: {size: 0}}")},
			want: "entry 1 of watches.yaml, Cache: the variable size of the finalizer is that of the field spec.size, too, and the value of the field would win: " +
				"call that of the finalizer otherwise",
		},
		"Selector": {
			reason: "A selector is one of Kubernetes.",
			files:  map[string]string{"watches.yaml": entry("role: cache", "selector: {matchExpressions: [{key: a, operator: Near}]}")},
			want:   `entry 1 of watches.yaml, Cache: the selector has no operator "Near", only In, NotIn, Exists and DoesNotExist`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := changed(t, tc.files)

			operator, err := LoadOperator(dir, nil, "")
			if err == nil {
				_, err = operator.Write()
			}

			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("\n%s\nwant %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// What can be written in several ways means the same.
func TestOperatorForms(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		source string
		want   []string
	}{
		"Environment": {
			reason: "The operator takes values from its environment, and any case of a name.",
			files:  map[string]string{"watches.yaml": entry("role: $SCAFFOLD_TEST_ROLE", "reconcileperiod: 90s", `vars: {pattern: "a$1 ${SCAFFOLD_TEST_ROLE} {{ b }}"}`)},
			want:   []string{"role: acme.cache.purge", "orValue('1m30s')", "pattern: a$${1} purge {{ b }}\n"},
		},
		"InImage": {
			reason: "Paths in the operator's image are paths of the project.",
			files:  map[string]string{"watches.yaml": entry("playbook: /opt/ansible/playbooks/region.yml", "reconcilePeriod: 0s")},
			want:   []string{"playbook: acme.cache.region", "orValue('10h')", "policy: Keep"},
		},
		"Elsewhere": {
			reason: "What only the operator's container has must be said.",
			files: map[string]string{
				"watches.yaml":                entry("role: cache"),
				"roles/cache/tasks/sdk.yml":   "- ansible.builtin.include_tasks: /opt/ansible/roles/purge/tasks/main.yml\n",
				"roles/cache/tasks/touch.yml": "- ansible.builtin.file: {path: /tmp/filled, state: touch}\n",
			},
			want: []string{
				"# roles/cache/tasks/sdk.yml refers to /opt/ansible, which is not there",
				"# roles/cache/tasks/touch.yml refers to /tmp, which content cannot write", "writePaths: [/tmp]", "--write-path=/tmp",
			},
		},
		"Secrets": {
			reason: "Others have Secrets, too: nothing runs until a label says so. Another project may have a configuration for the kind.",
			files:  map[string]string{"watches.yaml": entry("role: cache") + "- {version: v1, group: \"\", kind: Secret, role: purge}\n"},
			want: []string{
				"kind: WatchOperation\nmetadata:\n  name: acme-cache-secrets\n",
				"have this label: give it to the objects that are meant.\n    matchLabels:\n      ansible.fn.crossplane.io/watched-by: acme-cache\n",
				"kind: ClusterProviderConfig\n              name: acme-cache-secrets\n",
				"kind: ClusterProviderConfig\nmetadata:\n  name: acme-cache-secrets\n",
			},
		},
		"Expressions": {
			reason: "A selector without a label that is meant may select everything.",
			files: map[string]string{"watches.yaml": entry("role: cache") +
				"- {version: v1, group: apps, kind: Deployment, role: purge, selector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}\n"},
			want: []string{"    matchLabels:\n      ansible.fn.crossplane.io/watched-by: acme-cache\n", "  name: acme-cache-deployments.apps\n"},
		},
		"Temporary": {
			reason: "Another directory of that name is none of all programs.",
			files: map[string]string{
				"watches.yaml":                entry("role: cache"),
				"roles/cache/tasks/touch.yml": "- ansible.builtin.file: {path: /var/tmp/filled, state: touch}\n",
			},
			want: []string{"      - name: cache\n        providerConfigRef:\n          kind: ClusterProviderConfig\n          name: caches.cache.example.org\n        role: acme.cache.cache\n"},
		},
		"Galaxy": {
			reason: "Without a source, the project is on a Galaxy server.",
			files:  map[string]string{"watches.yaml": entry("role: cache"), "requirements.yml": "- src: acme.tuned\n"},
			want:   []string{"    collections:\n    - name: acme.cache\n    roles:\n    - src: acme.tuned\n"},
		},
		"Branch": {
			reason: "A source without a version is the default branch.",
			files:  map[string]string{"watches.yaml": entry("role: cache"), "requirements.yml": ""},
			source: "https://git.example.org/cache.git",
			want:   []string{"    collections:\n    - name: https://git.example.org/cache.git\n      type: git\n"},
		},
		"RequiredRole": {
			reason: "A role that requirements bring needs no collection.",
			files:  map[string]string{"watches.yaml": entry("role: acme.tuned"), "requirements.yml": "roles: [{name: acme.tuned}]\n", "galaxy.yml": ""},
			want:   []string{"role: acme.tuned", "  requirements: |\n    roles:\n    - name: acme.tuned\n"},
		},
		"FinalizerOfAnotherVariable": {
			reason: "A variable that nothing sets while the object is there is set only when it is deleted.",
			files:  map[string]string{"watches.yaml": entry("role: cache", "finalizer: {name: a/b, vars: {cleanup: \"yes\"}}")},
			want: []string{
				"        role: acme.cache.cache\n",
				"onDelete:\n          playbookInline: |\n            - hosts: localhost\n              tasks:\n              - ansible.builtin.include_role:\n                  name: acme.cache.cache\n                vars:\n                  cleanup: \"yes\"\n",
			},
		},
		"FinalizerOfField": {
			reason: "The variable of a deletion wins over a field of the spec for the state.",
			files: map[string]string{
				"watches.yaml": entry("role: purge", "finalizer: {name: a/b, vars: {region: absent}}"),
				"config/crd/bases/cache.example.org_caches.yaml": strings.Replace(readFile(t, operatorProject+"/config/crd/bases/cache.example.org_caches.yaml"), "environment:", "region:", 1),
			},
			want: []string{"stateVariable:\n          name: region\n          present: present\n          absent: absent\n"},
		},
	}

	t.Setenv("SCAFFOLD_TEST_ROLE", "purge")

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			operator, err := LoadOperator(changed(t, tc.files), nil, tc.source)
			if err != nil {
				t.Fatalf("\n%s\nLoadOperator(...): %v", tc.reason, err)
			}

			documents, err := operator.Write()
			if err != nil {
				t.Fatalf("\n%s\nWrite(): %v", tc.reason, err)
			}

			got := &bytes.Buffer{}
			for _, d := range documents[1:] {
				got.Write(d.Content)
			}

			for _, want := range tc.want {
				if !strings.Contains(got.String(), want) {
					t.Errorf("\n%s\nwant %q in:\n%s", tc.reason, want, got)
				}
			}

			var files []validate.File
			for _, d := range documents {
				files = append(files, validate.File{Name: d.File, Content: d.Content})
			}

			if result, err := validate.Files(files...); err != nil || len(result.Mistakes) > 0 {
				t.Errorf("\n%s\nvalidate.Files(...): %v: %v", tc.reason, err, result)
			}
		})
	}
}
