package shell

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestQuote(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
	}{
		"Empty":     {reason: "An empty text is a word."},
		"Spaces":    {reason: "Spaces and line ends do not divide a word.", text: "  a b\n\tc\n"},
		"Quotes":    {reason: "Quotes do not end a word.", text: `it's "a" ''word'`},
		"Expansion": {reason: "Variables and commands are not expanded.", text: `~/*.go $HOME $(id) ` + "`id`" + ` \n\ ; id & # !! \`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command("/bin/sh", "-c", "printf '%s|' "+Quote(tc.text)).Output()
			needs.OK(t, err)

			if diff := cmp.Diff(tc.text+"|", string(out)); diff != "" {
				t.Errorf("\n%s\nQuote(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
