package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// statistics prints the last event of a play on a hundred thousand hosts: one
// fails, and all others are unreachable. Its data is larger than an event may be.
const statistics = `
import driver, sys

hosts = [f"host-{n:06}.department.region.example.org" for n in range(100000)]
ones = {host: 1 for host in hosts}
data = {"ok": ones, "changed": ones, "skipped": ones, "rescued": {}, "ignored": {}, "processed": ones,
        "failures": {hosts[0]: 1}, "dark": {host: 1 for host in hosts[1:]}, "artifact_data": {str(n): "x" * 100000 for n in range(100)}}
failed = {"play": "p", "task": "t", "res": {"deep": [{"long": 'x"\\u00fc' * (3 << 20)}], "nan": float("nan"), "msg": "m"}}
for kind, host in ("runner_on_failed", hosts[0]), ("runner_on_unreachable", hosts[-1]):
    sys.stdout.buffer.write(driver.encode({"event": kind, "uuid": "u", "event_data": {**failed, "host": host}}))
sys.stdout.buffer.write(driver.encode({"event": "playbook_on_stats", "uuid": "u", "event_data": data}))
`

func TestStatistics(t *testing.T) {
	t.Parallel()

	python, err := sandbox.Interpreter(needs.Program(t, "ansible-runner"))
	needs.OK(t, err)

	dir := t.TempDir()
	needs.OK(t, os.WriteFile(filepath.Join(dir, driverFile), driver, 0o600))

	failures := []common.Failure{
		{Task: "t", Host: "host-000000.department.region.example.org", Message: "m"},
		{Task: "t", Host: "host-099999.department.region.example.org", Message: "m"},
	}
	want := events.Summary{
		Started: true, Ran: 1, Finished: true, Processed: 100000, Failures: failures, OutputsSize: 10000990,
		Totals: common.HostTotals{OK: 100000, Changed: 100000, Failed: 1, Unreachable: 99999, Skipped: 100000},
	}

	cmd := exec.CommandContext(t.Context(), python[0], append(python[1:len(python):len(python)], "-c", statistics)...)
	cmd.Dir = dir

	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python: %v", err)
	}

	rec := events.NewRecorder(events.Options{})
	if _, err := rec.Stdout().Write(out); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, rec.Summary()); diff != "" {
		t.Errorf("The event of the end of a play arrives, however many hosts and outputs there are.\n-want, +got:\n%s", diff)
	}
}
