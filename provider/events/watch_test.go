package events

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestTail(t *testing.T) {
	const secret = "correct horse battery staple"

	shown := func(text string) string {
		raw, err := json.Marshal(map[string]any{"event": "verbose", "uuid": "u", "stdout": text})
		needs.OK(t, err)

		return string(raw) + "\n"
	}

	for name, tc := range map[string]struct {
		reason string
		stream string
		want   string
	}{
		"Play": {
			reason: "The tail is the display of the play.",
			stream: golden(t, "tags"),
			want: "\nPLAY [Only facts] **************************************************************\n" +
				"\nTASK [Gathering Facts] *********************************************************\n" +
				"ok: [localhost]\n" +
				"\nPLAY RECAP *********************************************************************\n" +
				"localhost                  : ok=1    changed=0    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0\n",
		},
		"Mixed": {
			reason: "Lines outside of events are in their place, and the tail has no control characters.",
			stream: shown("\x1b[0;32mok: [a]\x1b[0m") + "a warning\n" + shown("ok: [b]"),
			want:   "ok: [a]\na warning\nok: [b]\n",
		},
		"Redacted": {
			reason: "Secrets are redacted before lines are cut.",
			stream: strings.Repeat("x", maxShown-4) + secret + "\n" + shown(strings.Repeat("y", maxShown-4)+secret),
			want:   strings.Repeat("x", maxShown-4) + "*…\n" + strings.Repeat("y", maxShown-4) + "*…\n",
		},
		"HalfASecret": {
			reason: "A string that the driver has cut may end in half of a secret.",
			stream: shown(("first\n" + strings.Repeat("z\n", maxString/2-10) + secret)[:maxString]),
			want:   leftOut + strings.Repeat("z\n", (MaxTail-len(leftOut))/2),
		},
		"Long": {
			reason: "The tail has the last lines.",
			stream: strings.Repeat(shown("before"), MaxTail) + shown(strings.Repeat("last 56789\n", MaxTail/11)),
			want:   leftOut + strings.Repeat("last 56789\n", (MaxTail-len(leftOut))/11),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, tc.stream, Options{Tail: true, Secrets: redact.New(redact.InFile(secret, redact.Source{}))})

			got := r.Tail()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nTail(): -want, +got:\n%s", tc.reason, diff)
			}

			if len(got) > MaxTail {
				t.Errorf("The tail should be bounded, got %d bytes", len(got))
			}
		})
	}
}
