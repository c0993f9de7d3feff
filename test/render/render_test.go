// Package render tests that Crossplane's command line renders the examples.
package render

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestExamples(t *testing.T) {
	needs.Built(t, "test-e2e", "../../.cache/bin/crank", "../../bin/function-ansible")

	functions := serve(t)

	cases := map[string]struct {
		reason string
		want   []string
	}{
		"website": {"The listing waits for the page, which is rendered.", []string{"Website", "AnsibleRun page"}},
		"site":    {"The page is rendered with what the XR says.", []string{"Site", "AnsibleRun page"}},
		"banner":  {"The shadow waits for the banner, which is rendered.", []string{"Banner", "AnsibleRun banner"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("../../examples", name)

			xr, composition := "xr.yaml", "composition.yaml"
			if name == "site" {
				xr, composition = "4-site.yaml", "2-composition.yaml"
			}

			cmd := exec.CommandContext(t.Context(), "../../.cache/bin/crank", "render", filepath.Join(dir, xr), filepath.Join(dir, composition), functions)
			stderr := &bytes.Buffer{}
			cmd.Stderr = stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("\n%s\nrender: %v: %s", tc.reason, err, stderr)
			}

			rendered, err := cluster.Parse(string(out), nil)
			needs.OK(t, err)

			var got []string
			for _, u := range rendered {
				got = append(got, strings.TrimSpace(u.GetKind()+" "+u.GetAnnotations()["crossplane.io/composition-resource-name"]))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nrender: -want, +got:\n%s\n%s", tc.reason, diff, out)
			}
		})
	}
}

// serve the function on a free port, and return a file that tells it to the
// command line.
func serve(t *testing.T) string {
	t.Helper()

	address, err := controlplane.FreeAddress(t.Context())
	needs.OK(t, err)

	cmd := exec.CommandContext(t.Context(), "../../bin/function-ansible", "serve", "--insecure", "--address="+address, "--metrics-address=")
	cmd.Stderr = os.Stderr
	needs.OK(t, cmd.Start())
	t.Cleanup(func() { cmd.Wait() })

	dir := t.TempDir()
	needs.Write(t, dir, map[string]string{
		"functions.yaml": strings.ReplaceAll(needs.Read(t, "../../examples/functions.yaml"), "localhost:9443", address),
	})

	return filepath.Join(dir, "functions.yaml")
}
