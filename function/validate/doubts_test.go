package validate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestDoubts makes typical mistakes in a valid Composition. Without the warnings, its XRs would wait or show wrong
// values.
func TestDoubts(t *testing.T) {
	const (
		steps = "  - step: environment\n    functionRef: {name: function-environment-configs}\n" +
			"    input: {apiVersion: environmentconfigs.fn.crossplane.io/v1beta1, kind: Input}\n"
		ready    = "  - step: ready\n    functionRef: {name: function-auto-ready}\n"
		optional = " is optional in the XRD, and what reads it waits while an XR lacks it: write "
		or       = ", or let the XRD require it, or give it a default"
		isText   = " is text, and no expression: these are written as in ${xr.spec.size}"
	)

	good := needs.Read(t, "testdata/site.yaml")
	settings := good[strings.Index(good, "  - step: settings\n"):strings.Index(good, "  - step: ansible\n")]

	cases := map[string]struct {
		reason string
		// edits are texts, each followed by its replacement.
		edits []string
		// want are the mistakes and warnings, without their lines.
		want []string
	}{
		"Good": {reason: "A valid input has no warning."},
		"Optional": {
			reason: "A reference to an optional field as a required one is a warning.", edits: []string{"xr.spec.?port}", "xr.spec.port}"},
			want: []string{"runs[0].vars.port: warning: xr.spec.port" + optional + "xr.spec.?port" + or},
		},
		"OptionalBelow": {
			reason: "A reference to an optional field below a required one is a warning.", edits: []string{"xr.spec.?port}", "xr.spec.owner.mail}"},
			want: []string{"runs[0].vars.port: warning: xr.spec.owner.mail" + optional + "xr.spec.owner.?mail" + or},
		},
		"RequiredBelow": {
			reason: "A required field of an optional object is optional.", edits: []string{"xr.spec.?port}", "xr.spec.mirror.host}"},
			want: []string{"runs[0].vars.port: warning: xr.spec.mirror" + optional + "xr.spec.?mirror" + or},
		},
		"OptionalElsewhere": {
			reason: "Locals and the status are checked, too.",
			edits:  []string{"${xr.spec.owner.?mail.orValue(xr.spec.owner.name)}", "${xr.spec.owner.mail}", "${runs.site.outputs.url}", "${xr.spec.owner.mail}"},
			want: []string{
				"locals.who: warning: xr.spec.owner.mail" + optional + "xr.spec.owner.?mail" + or,
				"status.url: warning: xr.spec.owner.mail" + optional + "xr.spec.owner.?mail" + or,
			},
		},
		"GoTemplate": {
			reason: "A Go template is text and not an expression.", edits: []string{"${xr.spec.title}\"\n          pages", "{{ .observed.composite.resource.spec.title }}\"\n          pages"},
			want: []string{"runs[0].vars.title: warning: {{ .observed.composite.resource.spec.title }}" + isText},
		},
		"Parenthesis": {
			reason: "$(…) is text and not an expression.", edits: []string{"${xr.spec.title}\"\n          pages", "$(xr.spec.title)\"\n          pages"},
			want: []string{"runs[0].vars.title: warning: $(xr.spec.title)" + isText},
		},
		"NoDollar": {
			reason: "{…} without a $ is text and not an expression.", edits: []string{"${xr.spec.title}\"\n          pages", "{xr.spec.title}\"\n          pages"},
			want: []string{"runs[0].vars.title: warning: {xr.spec.title}" + isText},
		},
		"SecretInVariable": {
			reason: "The message about connection details in a variable says what to write.", edits: []string{"xr.spec.?port}", "runs.mirror.connectionDetails.password}"},
			want: []string{`runs[0].vars.port: Invalid value: "${runs.mirror.connectionDetails.password}": runs.mirror.connectionDetails is for connectionDetails alone: ` +
				"content gets secrets by varFiles, which can name the Secret of that run: runs.mirror.spec.writeConnectionSecretToRef.name, here: runs.mirror▸.connectionDetails.password"},
		},
		"Duration": {
			reason: "The message about an invalid duration says what a duration is.", edits: []string{"timeout: 10m", "timeout: 10 minutes"},
			want: []string{`defaults.timeout: Invalid value: "10 minutes": must be a duration that is not negative, such as 20m`},
		},
		"State": {
			reason: "The message about an object names its fields.", edits: []string{"{name: site_state}", "site_state"},
			want: []string{`runs[0].stateVariable: Invalid value: "site_state": must be an object with the fields absent, name, present`},
		},
		"ComposedLater": {
			reason: "A resource of a later step is a warning.", edits: []string{settings, "", ready, settings + ready},
			want: []string{"runs[0].vars.text: warning: resources.settings is composed by a later step, and its readiness checks are not known here: put that step before this one"},
		},
		"NoEnvironment": {
			reason: "An environment without an earlier step that provides it is a warning.", edits: []string{steps, ""},
			want: []string{"runs[0].vars.text: warning: environment.region is not there: no earlier step has anything to do with the environment; " +
				"put function-environment-configs before this step"},
		},
		"ReadyFirst": {
			reason: "function-auto-ready before a step of the function is a warning.", edits: []string{ready, "", steps, ready + steps},
			want: []string{"spec.pipeline[0]: warning: function-auto-ready comes before a step of function-ansible: it makes nothing ready that later steps compose; put it last"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := good

			for i := 0; i < len(tc.edits); i += 2 {
				if !strings.Contains(text, tc.edits[i]) {
					t.Fatalf("there is no %q", tc.edits[i])
				}

				text = strings.Replace(text, tc.edits[i], tc.edits[i+1], 1)
			}

			result := Files(File{Name: "site.yaml", Content: []byte(text)})

			var got []string

			for _, m := range append(result.Mistakes, result.Warnings...) {
				m.File, m.Line = "", 0
				got = append(got, strings.TrimPrefix(m.String(), ": "))
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nFiles(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
