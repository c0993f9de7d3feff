// Package render tests that Crossplane's command line renders the examples.
package render

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestExamples(t *testing.T) {
	needs.Built(t, "test-e2e", "../../.cache/bin/crank", "../../bin/function-ansible")

	functions := serve(t)

	cases := map[string]struct {
		reason string
		want   []string
	}{
		"website": {
			reason: "The listing waits for the page, which is rendered.",
			want:   []string{"Website", "AnsibleRun page"},
		},
		"site": {
			reason: "The page is rendered with what the XR says.",
			want:   []string{"Site", "AnsibleRun page"},
		},
		"banner": {
			reason: "The shadow waits for the banner, which is rendered.",
			want:   []string{"Banner", "AnsibleRun banner"},
		},
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

			var got []string
			documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
			for {
				u := &unstructured.Unstructured{}
				if err := documents.Decode(u); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
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

	l, err := net.Listen("tcp", "localhost:0")
	needs.OK(t, err)
	address := l.Addr().String()
	l.Close()

	cmd := exec.CommandContext(t.Context(), "../../bin/function-ansible", "serve", "--insecure", "--address="+address, "--metrics-address=")
	cmd.Stderr = os.Stderr
	needs.OK(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})

	b, err := os.ReadFile("../../examples/functions.yaml")
	needs.OK(t, err)
	path := filepath.Join(t.TempDir(), "functions.yaml")
	needs.OK(t, os.WriteFile(path, bytes.ReplaceAll(b, []byte("localhost:9443"), []byte(address)), 0o600))

	return path
}
