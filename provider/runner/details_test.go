package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConnectionDetails(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		raw    string
		want   map[string][]byte
		err    string
	}{
		"None": {
			reason: "Content may publish no connection details.",
		},
		"Values": {
			reason: "Strings stay as they are, other values become JSON.",
			raw:    `{"password": "s3cret\n", "port": 5432, "tls": {"on": true}}`,
			want:   map[string][]byte{"password": []byte("s3cret\n"), "port": []byte("5432"), "tls": []byte(`{"on": true}`)},
		},
		"NoMapping": {
			reason: "The data of a Secret is a mapping.",
			raw:    `["s3cret"]`,
			err:    "connection_details must be a mapping of names to values",
		},
		"TooLarge": {
			reason: "A Secret holds 1 MiB at most.",
			raw:    `{"a": "` + strings.Repeat("x", 1<<19) + `", "b": "` + strings.Repeat("x", 1<<19-1) + `"}`,
			err:    "connection_details: 1048577 bytes are more than a Secret can have, which is 1048576",
		},
		"BadKey": {
			reason: "The error names an invalid key, and not its value.",
			raw:    `{"d d": 1, "c c": 2, "a b": "s3cret"}`,
			err:    `connection_details: "a b" cannot be a key of a Secret: a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := connectionDetails(json.RawMessage(tc.raw))

			msg := ""
			if err != nil {
				msg = err.Error()
			}

			if diff := cmp.Diff(tc.err, msg); diff != "" {
				t.Errorf("\n%s\nconnectionDetails(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nconnectionDetails(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
