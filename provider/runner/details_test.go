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
			reason: "Content need not publish any.",
		},
		"Values": {
			reason: "Strings are as they are, anything else is JSON.",
			raw:    `{"password": "s3cret\n", "port": 5432, "tls": {"on": true}}`,
			want:   map[string][]byte{"password": []byte("s3cret\n"), "port": []byte("5432"), "tls": []byte(`{"on": true}`)},
		},
		"NoMapping": {
			reason: "A Secret has keys.",
			raw:    `["s3cret"]`,
			err:    "connection_details must be a mapping of names to values",
		},
		"TooLarge": {
			reason: "A Secret holds a mebibyte.",
			raw:    `{"a": "` + strings.Repeat("x", 1<<19) + `", "b": "` + strings.Repeat("x", 1<<19-1) + `"}`,
			err:    "connection_details: 1048577 bytes are more than a Secret can have, which is 1048576",
		},
		"BadKey": {
			reason: "A key that a Secret cannot have is named, its value is not.",
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
