package config

import (
	"testing"
)

func TestIsWatched(t *testing.T) {
	noSecret := `{filename: a, source: Secret, secretRef: {namespace: team, name: missing, key: a}}`
	noFile := `{filename: b, source: Filesystem, fs: {path: /does/not/exist}}`

	for name, tc := range map[string]struct {
		reason      string
		credentials string
		want        bool
	}{
		"Secret":    {reason: "Secrets are watched.", credentials: noSecret, want: true},
		"File":      {reason: "The files of the provider are not.", credentials: noFile},
		"Both":      {reason: "All that is missing must be watched.", credentials: noFile + ", " + noSecret},
		"BothTurns": {reason: "In any order.", credentials: noSecret + ", " + noFile},
	} {
		t.Run(name, func(t *testing.T) {
			m := manifests(t, clusterRun+inline, clusterConfig+"spec: {credentials: ["+tc.credentials+"]}")

			_, err := (&Resolver{Reader: m, Host: true}).Resolve(t.Context(), m.Runs()[0])
			if !IsMissing(err) {
				t.Fatalf("Resolve(...): %v, want a MissingError", err)
			}

			if got := IsWatched(err); got != tc.want {
				t.Errorf("\n%s\nIsWatched(%v): got %t", tc.reason, err, got)
			}
		})
	}
}
