package canary

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestIn(t *testing.T) {
	c := New("a", "b")

	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"None":   {reason: "A text without canaries has no places.", text: "********"},
		"Both":   {reason: "Two canaries have different places.", text: c["a"] + c["b"], want: []string{"a", "b"}},
		"Base64": {reason: "A canary is found in base64 at any offset.", text: base64.StdEncoding.EncodeToString([]byte("x" + c["b"])), want: []string{"b"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, c.In(tc.text)); diff != "" {
				t.Errorf("\n%s\nIn(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBelow(t *testing.T) {
	c := New("a")

	dir, began := t.TempDir(), time.Now().Add(-time.Minute)
	file := filepath.Join(dir, "file")

	needs.OK(t, os.WriteFile(file, []byte(c["a"]), 0o600))

	if diff := cmp.Diff(map[string][]string{file: {"a"}}, c.Below(dir, began)); diff != "" {
		t.Errorf("\nBelow(...): -want, +got:\n%s", diff)
	}
}
