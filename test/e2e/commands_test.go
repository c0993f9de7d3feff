package e2e

import (
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// commands with a text in their arguments.
func commands(t *testing.T, part string) (out []string) {
	t.Helper()
	all, err := procfs.AllProcs()
	needs.OK(t, err)
	for _, p := range all {
		args, _ := p.CmdLine() // What has ended has none.
		if command := strings.Join(args, " "); strings.Contains(command, part) {
			out = append(out, command)
		}
	}
	return out
}
