package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/canary"
)

// TestNoSecretLeaves runs a play that shows its secrets in every way that there
// is, and looks for them in what is known of the run.
func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()

	c, err := canary.New("file", "json", "credential", "inventory", "environment", "detail")
	if err != nil {
		t.Fatal(err)
	}

	verbosity := int32(4)
	secret := func(name, text string) inputs.File { return inputs.File{Name: name, Data: []byte(text), Secret: true} }

	cases := map[string]struct {
		reason string
		mode   common.RunMode
		fail   bool
		want   common.RunPhase
	}{
		"Applies": {reason: "A run that succeeds tells no secret.", mode: common.ModeApply, want: common.PhaseSucceeded},
		"Fails":   {reason: "Nor does one that fails.", mode: common.ModeApply, fail: true, want: common.PhaseFailed},
		"Checks":  {reason: "Nor does what would change.", mode: common.ModeCheck, want: common.PhaseSucceeded},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			began, out := time.Now(), t.TempDir()

			run := inline(canary.Play)
			run.ID, run.Mode, run.KeepOutput = "run-"+name, tc.mode, true
			run.Inputs.Parameters.Verbosity = &verbosity
			run.Inputs.Parameters.Vars = raw(fmt.Sprintf(`{"directory": %q, "fail": %t}`, out, tc.fail))
			run.Inputs.VarFiles = []inputs.File{
				secret("a", "of_file: {deep: ["+yamltext.Quote(c["file"])+"]}\ndetail: "+yamltext.Quote(c["detail"])+"\n"),
				secret("b", `{"of_file_json": `+yamltext.Quote(c["json"])+`}`),
			}
			run.Inputs.Inventories = []inputs.File{secret("c",
				"all: {hosts: {canary: {ansible_connection: local, ansible_python_interpreter: '{{ ansible_playbook_python }}', of_inventory: "+yamltext.Quote(c["inventory"])+"}}}\n")}
			run.Inputs.Credentials = []inputs.File{secret("credential", c["credential"])}
			run.Inputs.Env = map[string]string{"CANARY_TOKEN": c["environment"]}

			var told strings.Builder

			r := newRunner(t, WithShipped(brought(t)))
			arguments := c.Watch()

			res, err := r.Run(t.Context(), run, events.Watch{
				Progress: func(s events.Summary) { fmt.Fprintf(&told, "%+v\n", s) },
				Task:     func(res events.TaskResult) { fmt.Fprintf(&told, "%+v\n", res) },
			})
			if err != nil || res.Phase != tc.want {
				t.Fatalf("\n%s\nRun(...): got %s, %v\n%s\n%s", tc.reason, res.Phase, err, res.Message, res.Output)
			}

			if got := strings.Count(res.Output, "********"); got < 30 {
				t.Errorf("What says nothing tells no secret: got %d masks", got)
			}

			withheld := slices.Concat(
				slices.Sorted(maps.Keys(res.Summary.Withheld)), slices.Sorted(maps.Keys(res.Summary.Report.Withheld)))

			// In check mode nothing is reported or published.
			want := []string{"deep", "encoded", "nested", "published", "reported", "nested", "reported"}
			if tc.mode == common.ModeCheck {
				want = []string{"deep", "encoded", "published"}
			}

			if diff := cmp.Diff(want, withheld); diff != "" {
				t.Errorf("\n%s\nWhat has a secret is withheld: -want, +got:\n%s", tc.reason, diff)
			}

			// This is where a secret is to go.
			res.ConnectionDetails, res.Summary.ConnectionDetails = nil, nil

			text, err := json.Marshal(res) //nolint:musttag // For a look at it only.
			if err != nil {
				t.Fatal(err)
			}

			for where, text := range map[string]string{
				"the result": string(text), "the outputs": string(res.Summary.Outputs), "the output": res.Output, "what was told": told.String(),
			} {
				if found := c.In(text); len(found) > 0 {
					t.Errorf("\n%s\nIn %s are the secrets of %v: %s", tc.reason, where, found, c.Excerpt(text))
				}
			}

			for place, cmdline := range arguments() {
				t.Errorf("\nAll processes see arguments.\nThe secret of %s: %s", place, cmdline)
			}

			home, err := os.UserHomeDir()
			if err != nil {
				t.Fatal(err)
			}

			for _, dir := range []string{r.dir, out, filepath.Join(home, ".ansible"), filepath.Join(home, ".ansible_async"), "/dev/shm"} {
				for file, found := range c.Below(dir, began) {
					t.Errorf("\nNothing is left of a run.\n%s has the secrets of %v", file, found)
				}
			}
		})
	}
}
