package sealed

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// phase returns a report with a phase.
func phase(p common.RunPhase) runs.Report { return runs.Report{Run: common.Run{Phase: p}} }

// written returns the lines of some reports.
func written(t *testing.T, key []byte, run string, reports ...runs.Report) [][]byte {
	t.Helper()

	out := &bytes.Buffer{}

	w, err := NewWriter(out, key, run, "pod")
	needs.OK(t, err)

	for _, r := range reports {
		needs.OK(t, w.Report(r))
	}

	return bytes.SplitAfter(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
}

func reader(t *testing.T, key []byte, run string) *Reader {
	t.Helper()

	r, err := NewReader(key, run, "pod")
	needs.OK(t, err)

	return r
}

func TestReports(t *testing.T) {
	key := NewKey()
	report := runs.Report{
		Run:               common.Run{ID: "a", Phase: common.PhaseSucceeded},
		ConnectionDetails: map[string][]byte{"password": {0, 255, 10}},
		// Characters that HTML escapes do not make outputs longer than their limit.
		Output: "PLAY [x]\n", Outputs: &apiextensionsv1.JSON{Raw: []byte(`{"page":"<&>"}`)},
	}
	// A run reports neither its earlier state nor the time of the next run.
	more := report
	more.Before, more.Attempt, more.Request, more.Generation = &common.Run{}, 7, "token", 7
	more.Waits, more.Attaching, more.NotBefore, more.Plan = true, true, time.Now(), "plan"
	more.Tail = func() string { return "" }

	lines := written(t, key, "a", phase(common.PhaseRunning), more)
	r := reader(t, key, "a")

	if len(lines) != 2 || bytes.Contains(bytes.Join(lines, nil), []byte("password")) {
		t.Fatalf("Each report should be one line, unreadable without the key: %q", lines)
	}

	if _, _, ok := r.Read([]byte("TASK [debug] ***\n")); ok {
		t.Error("A displayed line should be no report.")
	}

	if first, _, ok := r.Read(lines[0]); !ok || r.Number != 1 || first.Run.Phase != common.PhaseRunning {
		t.Fatalf("Read(...): %v, %+v", ok, first)
	}

	last, _, ok := r.Read(append(bytes.TrimSuffix(lines[1], []byte("\n")), "\r\n"...))
	if diff := cmp.Diff(report, last); !ok || diff != "" {
		t.Errorf("Read(...): %t, -want, +got:\n%s", ok, diff)
	}
}

// TestForgedFrames has content write to the log of its Pod.
func TestForgedFrames(t *testing.T) {
	key := NewKey()
	lines := written(t, key, "a", phase(common.PhaseRunning), phase(common.PhaseSucceeded))
	line := string(lines[0])

	coded := strings.TrimPrefix(strings.TrimSpace(line), prefix)

	sealed, err := base64.StdEncoding.DecodeString(coded)
	needs.OK(t, err)

	sealed[len(sealed)-1] ^= 1

	other := NewKey()
	before := &bytes.Buffer{}

	w, err := NewWriter(before, key, "a", "pod before")
	needs.OK(t, err)

	needs.OK(t, w.Report(phase(common.PhaseSucceeded)))

	for name, tc := range map[string]struct {
		reason string
		read   []string
		line   string
	}{
		"Changed":    {"A changed frame is refused.", nil, prefix + base64.StdEncoding.EncodeToString(sealed)},
		"Garbage":    {"A line with only the prefix of a frame is refused.", nil, prefix + "eyJmaW5hbCI6dHJ1ZX0="},
		"NoBase64":   {"A line with invalid base64 is refused.", nil, prefix + "%%%"},
		"Empty":      {"A line with the prefix alone is refused.", nil, prefix},
		"Indented":   {"A frame that does not begin its line is refused.", nil, " " + line},
		"OtherKey":   {"A frame with another key is refused.", nil, string(written(t, other, "a", phase(common.PhaseSucceeded))[0])},
		"OtherRun":   {"A frame of another run is refused, also with the same key.", nil, string(written(t, key, "b", phase(common.PhaseSucceeded))[0])},
		"OtherPod":   {"A frame of an earlier Pod of the run, with the same key, is refused.", nil, before.String()},
		"Again":      {"A repeated frame is refused.", []string{line}, line},
		"OutOfOrder": {"A frame with a lower number than the last one is refused.", []string{string(lines[1])}, line},
		"TooLong":    {"A line that is longer than MaxLine is refused.", nil, prefix + strings.Repeat("A", MaxLine+4)},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t, key, "a")

			for _, l := range tc.read {
				if _, _, ok := r.Read([]byte(l)); !ok {
					t.Fatalf("The frame should be read: %q", l)
				}
			}

			if f, _, ok := r.Read([]byte(tc.line)); ok {
				t.Errorf("\n%s\nRead(%.80q): %+v", tc.reason, tc.line, f)
			}
		})
	}
}

// TestFrameBomb has a frame that would become very long when it is unpacked. Only a holder of the key can write it.
func TestFrameBomb(t *testing.T) {
	out := &bytes.Buffer{}
	key := NewKey()

	w, err := NewWriter(out, key, "a", "pod")
	needs.OK(t, err)

	if err := w.Report(runs.Report{Run: common.Run{Phase: common.PhaseFailed}, Output: strings.Repeat("x", MaxFrame)}); err == nil || out.Len() > 0 {
		t.Errorf("Report(...) of too much: %v, %d bytes", err, out.Len())
	}
}

// TestFrameOfValues has a frame with very many values, which takes much more memory than its text. Only a holder of the
// key can write it.
func TestFrameOfValues(t *testing.T) {
	key := NewKey()
	r := reader(t, key, "a")

	packed := &bytes.Buffer{}

	z, err := flate.NewWriter(packed, flate.BestSpeed)
	needs.OK(t, err)

	_, _ = z.Write([]byte(`{"number":1,"other":[{}` + strings.Repeat(",{}", maxCommas) + "]}"))
	_ = z.Close()

	line := prefix + base64.StdEncoding.EncodeToString(r.aead.Seal(nil, nil, packed.Bytes(), r.from))
	if _, cost, ok := r.Read([]byte(line)); ok || cost < commaCost*maxCommas {
		t.Errorf("Read(...) of a line of %d bytes: want none, and its JSON counted, got %t, %d", len(line), ok, cost)
	}
}
