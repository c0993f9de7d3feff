package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const siteRole = "scaffold/testdata/acme.web/roles/site"

// The scaffolded documents have no mistakes, on the standard output and in files.
func TestScaffold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	out := command(t, "scaffold", siteRole)
	command(t, "scaffold", siteRole, "-o", dir)

	xrd, composition := filepath.Join(dir, "xrd.yaml"), filepath.Join(dir, "composition.yaml")
	if diff := cmp.Diff(needs.Read(t, xrd)+"---\n"+needs.Read(t, composition), out); diff != "" {
		t.Errorf("files and standard output differ: -files, +output:\n%s", diff)
	}

	command(t, "validate", xrd, composition)

	if _, err := run(t, "", "scaffold", siteRole, "-o", dir); err == nil {
		t.Error("files that are there should not be overwritten")
	}
}

// Options that an XR cannot set are left out, so that the documents have no mistakes.
func TestScaffoldRole(t *testing.T) {
	cases := map[string]struct {
		reason       string
		options      string
		requirements string
		args         []string
		want         []string
		err          string
	}{
		"ShortName": {
			reason:  "A role in a repository has no full name, and the author must say how it is found.",
			options: "{title: {type: str}}",
			want:    []string{"role: web", "# The role web is in no collection that is known: say with project"},
		},
		"Reserved": {
			reason:  "An option with a name that an XR cannot set is left to the role.",
			options: "{ansible_user: {type: str}, ansible_config: {type: list, elements: dict, required: true}, title: {type: str}}",
			want:    []string{"# ansible_config is left out of the XR:", `title: "${xr.spec.?title}"`, "spec: {}"},
		},
		"Elements": {
			reason:  "An option with options is a dict, whatever its type says. The options in it keep their names.",
			options: "{things: {type: list, elements: str, options: {display_name: {required: true}}}, one: {options: {a_b: {}}}}",
			want:    []string{"                    display_name:\n", "                  a_b:\n"},
		},
		"ElementsOfElements": {
			reason:  "The type of elements of a nested list is unknown.",
			options: "{grid: {type: list, elements: list, default: [[1, a], []]}}",
			want: []string{"items:\n                  type: array\n                  items:\n" +
				"                    x-kubernetes-preserve-unknown-fields: true\n"},
		},
		"OptionsOfNumber": {
			reason:  "Options of a type that is no dict are left out.",
			options: "{size: {type: int, options: {max_size: {type: int}}}}",
			want:    []string{`size: "${xr.spec.?size}"`, "# size: its options are left out, since its type is int", "type: integer"},
		},
		"LongName": {
			reason:       "Documents that the API server would refuse are an error.",
			requirements: "collections: [acme.web]\n", args: []string{"--group", strings.Repeat("long.", 12) + "example.org"},
			err: "what would be written has mistakes:\ncomposition.yaml:25: runs[0].providerConfigRef.name: Too long: may not be more than 63 bytes",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			role, out := filepath.Join(t.TempDir(), "roles", "web"), filepath.Join(t.TempDir(), "api")
			needs.Write(t, role, map[string]string{"meta/argument_specs.yml": "argument_specs: {main: {options: " + tc.options + "}}"})

			args := append([]string{"scaffold", role, "-o", out}, tc.args...)

			if tc.requirements != "" {
				file := filepath.Join(t.TempDir(), "requirements.yml")
				needs.Write(t, "", map[string]string{file: tc.requirements})

				args = append(args, "-f", file)
			}

			if _, err := run(t, "", args...); needs.Message(err) != tc.err {
				t.Fatalf("\n%s\nscaffold: want error %q, got %v", tc.reason, tc.err, err)
			}

			if _, err := os.Stat(out); tc.err != "" {
				if !os.IsNotExist(err) {
					t.Errorf("\n%s\nsomething was written", tc.reason)
				}

				return
			}

			files, err := filepath.Glob(filepath.Join(out, "*.yaml"))
			needs.OK(t, err)

			all := ""
			for _, file := range files {
				all += needs.Read(t, file)
			}

			for _, want := range tc.want {
				if !strings.Contains(all, want) {
					t.Errorf("\n%s\nwant %q in\n%s", tc.reason, want, all)
				}
			}

			command(t, "validate", out)
		})
	}
}
