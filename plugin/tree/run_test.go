package tree

import "testing"

func TestCanceled(t *testing.T) {
	const status = "atProvider: {lastRun: {id: a, phase: Canceled}}"

	cases := map[string]struct {
		reason, metadata string
		want             bool
	}{
		"Somebody": {reason: "The annotation names the run.", metadata: "annotations: {ansible.crossplane.io/cancel: a}", want: true},
		"Before":   {reason: "It may name an earlier one.", metadata: "annotations: {ansible.crossplane.io/cancel: b}"},
		"Provider": {reason: "Without it the provider has ended the run."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := run(t, "a", tc.metadata, "", status).Canceled; got != tc.want {
				t.Errorf("\n%s\nCanceled: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
