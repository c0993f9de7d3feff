package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const siteRole = "scaffold/testdata/acme.web/roles/site"

// What is scaffolded is right, whichever way it is written.
func TestScaffold(t *testing.T) {
	out := &bytes.Buffer{}
	if err := run(t, nil, out, "scaffold", siteRole); err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(t.TempDir(), "site")
	if err := run(t, nil, &bytes.Buffer{}, "scaffold", siteRole, "-o", dir); err != nil {
		t.Fatal(err)
	}

	var files []byte

	for i, name := range []string{"xrd.yaml", "composition.yaml"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		if i > 0 {
			files = append(files, "---\n"...)
		}

		files = append(files, b...)
	}

	if diff := cmp.Diff(string(files), out.String()); diff != "" {
		t.Errorf("files and standard output differ: -files, +output:\n%s", diff)
	}

	got := &bytes.Buffer{}
	if err := run(t, nil, got, "validate", filepath.Join(dir, "xrd.yaml"), filepath.Join(dir, "composition.yaml")); err != nil {
		t.Errorf("validate: %v\n%s", err, got)
	}

	if err := run(t, nil, &bytes.Buffer{}, "scaffold", siteRole, "-o", dir); err == nil {
		t.Error("files that are there should not be overwritten")
	}
}

// What an XR cannot say is left out, so that what is written has no mistakes.
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
			reason:  "A role of a repository has no full name; what finds it is up to its author.",
			options: "{title: {type: str}}",
			want:    []string{"role: web", "# The role web is in no collection that is known: say with project"},
		},
		"Reserved": {
			reason:  "A variable that an expression cannot give is left to the role.",
			options: "{ansible_user: {type: str}, ansible_config: {type: list, elements: dict, required: true}, title: {type: str}}",
			want:    []string{"# ansible_config is left out of the XR:", `title: "${xr.spec.?title}"`, "spec: {}"},
		},
		"Elements": {
			reason:  "What has options is a dict, whatever its elements are said to be. They are called as the role has them.",
			options: "{things: {type: list, elements: str, options: {display_name: {required: true}}}, one: {options: {a_b: {}}}}",
			want:    []string{"                    display_name:\n", "                  a_b:\n"},
		},
		"OptionsOfNumber": {
			reason:  "What cannot be a dict has no options.",
			options: "{size: {type: int, options: {max_size: {type: int}}}}",
			want:    []string{`size: "${xr.spec.?size}"`, "# size: its options are left out, since its type is int", "type: integer"},
		},
		"OnDisk": {
			reason:       "Content reads no paths of the provider but those that its configuration names.",
			options:      "{title: {type: str}}",
			requirements: "collections: [{name: 'git+file:///srv/web.git#/sub,v1'}, {name: acme.web}]\nroles:\n- src: https://git.example.org/a.git\n- name: /opt/b\n",
			want:         []string{"readPaths:\n    - /opt/b\n    - /srv/web.git\n"},
		},
		"Elsewhere": {
			reason:       "Other requirements need nothing of the disk.",
			options:      "{title: {type: str}}",
			requirements: "collections: [{name: acme.web, source: 'https://hub.example.org/api/'}]\n",
			want:         []string{"hub.example.org"},
		},
		"LongName": {
			reason:       "Nothing is written that the API server refuses.",
			requirements: "collections: [acme.web]\n",
			args:         []string{"--group", strings.Repeat("long.", 12) + "example.org"},
			err: "what would be written has mistakes:\n" +
				"composition.yaml:25: runs[0].providerConfigRef.name: Too long: may not be more than 63 bytes",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			role, out := filepath.Join(t.TempDir(), "roles", "web"), filepath.Join(t.TempDir(), "api")
			write(t, filepath.Join(role, "meta", "argument_specs.yml"), "argument_specs: {main: {options: "+tc.options+"}}")

			args := append([]string{"scaffold", role, "-o", out}, tc.args...)

			if tc.requirements != "" {
				file := filepath.Join(t.TempDir(), "requirements.yml")
				write(t, file, tc.requirements)

				args = append(args, "-f", file)
			}

			if err := run(t, nil, &bytes.Buffer{}, args...); message(err) != tc.err {
				t.Fatalf("\n%s\nscaffold: want error %q, got %v", tc.reason, tc.err, err)
			}

			if _, err := os.Stat(out); tc.err != "" {
				if !os.IsNotExist(err) {
					t.Errorf("\n%s\nsomething was written", tc.reason)
				}

				return
			}

			all := &bytes.Buffer{}

			for _, file := range []string{"xrd.yaml", "composition.yaml", "providerconfig.yaml", "xr.yaml"} {
				b, err := os.ReadFile(filepath.Join(out, file))
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}

				all.Write(b)
			}

			for _, want := range tc.want {
				if !strings.Contains(all.String(), want) {
					t.Errorf("\n%s\nwant %q in\n%s", tc.reason, want, all)
				}
			}

			if tc.requirements != "" && bytes.Contains(all.Bytes(), []byte("readPaths")) != (name == "OnDisk") {
				t.Errorf("\n%s\nwant readPaths for what is on the disk, got\n%s", tc.reason, all)
			}

			got := &bytes.Buffer{}
			if err := run(t, nil, got, "validate", out); err != nil {
				t.Errorf("\n%s\nvalidate: %v\n%s", tc.reason, err, got)
			}
		})
	}
}

func TestScaffoldUsage(t *testing.T) {
	parser, err := newParser(nil, nil, os.Exit)
	if err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Role": {
			reason: "A name alone brings no role.",
			args:   []string{"--role", "a.b.c"},
			want:   "give the directory of a role, or --role together with --requirements",
		},
		"OperatorAndRole": {
			reason: "An operator has several kinds, with names of their own.",
			args:   []string{"--operator", ".", "--kind", "Site"},
			want:   "--operator is in place of a role, and says itself what its kinds are called and what it requires",
		},
		"SourceOfRole": {
			reason: "Only an operator has a source.",
			args:   []string{siteRole, "--source", "https://git.example.org/site.git"},
			want:   "--watches and --source are of an --operator",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := parser.Parse(append([]string{"scaffold"}, tc.args...)); message(err) != "scaffold: "+tc.want {
				t.Errorf("\n%s\nwant %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
