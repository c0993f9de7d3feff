package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestValidate(t *testing.T) {
	type want struct {
		out string
		err string
	}

	cases := map[string]struct {
		reason string
		args   []string
		stdin  string
		want   want
	}{
		"Valid": {
			reason: "Success is printed with the number of inputs.",
			args:   []string{"../examples/website/composition.yaml", "../examples/website/xrd.yaml"},
			want:   want{out: "No mistakes in 1 input of function-ansible.\n"},
		},
		"Mistakes": {
			reason: "Each mistake is a line, and the command fails.",
			args:   []string{"-"}, stdin: "apiVersion: ansible.fn.crossplane.io/v1alpha1\nkind: AnsibleRuns\nruns:\n- name: a\n  role: a.b\n  hots: all\n",
			want: want{
				out: "-:6: runs[0].hots: Forbidden: there is no such field (did you mean \"hosts\"?)\n",
				err: "found 1 mistake",
			},
		},
		"Directory": {
			reason: "All YAML files in a directory are read once, and playbooks in it are no mistake.",
			args:   []string{"../examples/website", "../examples/website/composition.yaml"},
			want:   want{out: "No mistakes in 1 input of function-ansible.\n"},
		},
		"StandardInputAndFiles": {
			reason: "The standard input can be one of several files, and may have a List of objects.",
			args:   []string{"../examples/website/xrd.yaml", "-"},
			stdin:  "kind: List\nitems:\n- apiVersion: ansible.fn.crossplane.io/v1alpha1\n  kind: AnsibleRuns\n  runs:\n  - {name: a, rol: a.b}\n",
			want: want{
				out: "-:6: runs[0].rol: Forbidden: there is no such field (did you mean \"role\"?)\n",
				err: "found 1 mistake",
			},
		},
		"Against": {
			reason: "--against prints a line for each changed run, and does not fail.",
			args:   []string{"-", "--against", "testdata/against.yaml"},
			stdin:  "apiVersion: ansible.fn.crossplane.io/v1alpha1\nkind: AnsibleRuns\nruns:\n- {name: a, role: a.c}\n- {name: c, role: a.d}\n",
			want:   want{out: "No mistakes in 1 input of function-ansible.\nrun again a (role)\ncreate c\nremove b\n"},
		},
		"AgainstSetRenamed": {
			reason: "A set adopts the members of another set by previousNames.",
			args:   []string{"testdata/renamed-set-1.yaml", "--against", "testdata/renamed-set-0.yaml", "--fail-on-removal"},
			want:   want{out: "No mistakes in 1 input of function-ansible.\ndbclusters.db.example.org: adopt standby (was replica)\n"},
		},
		"SameRunInTwoSteps": {
			reason: "A run in two steps is a mistake. A reference to a run of an earlier step is valid, and to one of a later step is not.",
			args:   []string{"testdata/two-steps.yaml"},
			want: want{
				out: "testdata/two-steps.yaml:27: runs[0].vars.later: Invalid value: \"${resources.two.status.atProvider.outputs.out}\": no step composes a resource \"two\", here: resources▸.two.status.atProvider.outputs.out\n" +
					"testdata/two-steps.yaml:35: runs[0].name: Invalid value: \"one\": an earlier step has a run of this name; give the run another name\n" +
					"testdata/two-steps.yaml:39: connectionDetails: Forbidden: another step has connectionDetails, and only one step can have these\n",
				err: "found 3 mistakes",
			},
		},
		"AgainstRemoval": {
			reason: "--fail-on-removal fails when a run is removed.",
			args:   []string{"-", "--against", "testdata/against.yaml", "--fail-on-removal"},
			stdin:  "apiVersion: ansible.fn.crossplane.io/v1alpha1\nkind: AnsibleRuns\nruns:\n- {name: a, role: a.b}\n",
			want:   want{out: "No mistakes in 1 input of function-ansible.\nremove b\n", err: "this removes, or may remove, 1 run"},
		},
		"AgainstTheSame": {
			reason: "Without changes, --against prints that.",
			args:   []string{"testdata/against.yaml", "--against", "testdata/against.yaml", "--fail-on-removal"},
			want:   want{out: "No mistakes in 1 input of function-ansible.\nNo run changes.\n"},
		},
		"AgainstOthers": {
			reason: "A comparison without a common Composition is an error.",
			args:   []string{"../examples/website", "--against", "testdata/against.yaml", "--fail-on-removal"},
			want: want{
				out: "No mistakes in 1 input of function-ansible.\n",
				err: "cannot compare: no Composition of these files has the name of one that they are compared with",
			},
		},
		"Nothing": {
			reason: "A check without an input is an error.",
			args:   []string{"../examples/website/xr.yaml"},
			want:   want{err: "there is no input of function-ansible in these files: it checks Compositions and Operations; for an AnsibleRun or a configuration use kubectl apply --dry-run=server"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, tc.stdin, append([]string{"validate"}, tc.args...)...)

			if diff := cmp.Diff(tc.want, want{out: out, err: needs.Message(err)}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nvalidate %v: -want, +got:\n%s", tc.reason, tc.args, diff)
			}
		})
	}
}

// Users copy the examples, so they must have no mistakes.
func TestExamples(t *testing.T) {
	examples, err := filepath.Glob("../examples/*/*composition.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}

	for _, composition := range examples {
		t.Run(filepath.Base(filepath.Dir(composition)), func(t *testing.T) { command(t, "validate", filepath.Dir(composition)) })
	}
}

// A directory may be a symbolic link.
func TestValidateLink(t *testing.T) {
	website, err := filepath.Abs("../examples/website")
	needs.OK(t, err)

	link := filepath.Join(t.TempDir(), "website")
	needs.OK(t, os.Symlink(website, link))

	command(t, "validate", link)
}

// Users copy the inputs in the documentation, so they must have no mistakes. A block that does not begin like a
// manifest is a part of one, and is skipped.
func TestDocumentation(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	needs.OK(t, err)

	inputs := 0

	for _, page := range append(pages, "../README.md") {
		for _, m := range regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$").FindAllStringSubmatch(needs.Read(t, page), -1) {
			block := regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[2], "")
			if !strings.HasPrefix(block, "apiVersion: ") {
				continue
			}

			result := validate.Files(validate.File{Name: filepath.Base(page), Content: []byte(block)})
			inputs += result.Inputs

			for _, mistake := range result.Mistakes {
				t.Errorf("%s, in:\n%s", mistake, block)
			}
		}
	}

	if inputs == 0 {
		t.Error("there should be inputs in the documentation")
	}
}

// run runs a command line, and returns its output.
func run(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()

	out := &bytes.Buffer{}

	parser, err := newParser(strings.NewReader(in), out, os.Exit)
	needs.OK(t, err)

	ctx, err := parser.Parse(args)
	needs.OK(t, err)

	err = ctx.Run()

	return out.String(), err
}

// command runs a valid command line.
func command(t *testing.T, args ...string) string {
	t.Helper()

	out, err := run(t, "", args...)
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}

	return out
}
