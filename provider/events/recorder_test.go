package events

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// record records a stream in pieces, as a pipe delivers it.
func record(t *testing.T, stream string, o Options) *Recorder {
	t.Helper()

	const piece = 1000

	r := NewRecorder(o)

	for len(stream) > 0 {
		n := min(piece, len(stream))

		if _, err := r.Stdout().Write([]byte(stream[:n])); err != nil {
			t.Fatal(err)
		}

		stream = stream[n:]
	}

	r.Close()

	return r
}

func TestStreams(t *testing.T) {
	type want struct {
		summary  Summary
		text     string
		warnings string
	}

	for name, tc := range map[string]struct {
		reason string
		stream string
		want   want
	}{
		"Rescued": {
			reason: "A rescued failure may be the cause of the final one; an ignored failure is not listed. Outputs are exact, and withheld if they have a secret.",
			stream: "rescued",
			want: want{summary: Summary{
				Started: true,
				Play:    "Fail and go on", Task: "Fail in the end", Tasks: 7, Ran: 6,
				Totals: common.HostTotals{OK: 4, Changed: 1, Failed: 1, Skipped: 1, Rescued: 1, Ignored: 1},
				Failures: []common.Failure{
					{Task: "Fail and be rescued", Host: "localhost", Message: "never mind", Rescued: true},
					{Task: "Fail in the end", Host: "localhost", Message: "******** is wrong"},
				},
				Changed:  []common.DriftTask{{Task: "Fail and be ignored", Host: "localhost"}},
				Finished: true, Processed: 1,
				Outputs:       json.RawMessage(`{"endpoint":"https://example.org"}`),
				Withheld:      common.Withheld{"password": "a secret is in it"},
				OutputsSize:   56,
				InvalidOutput: `output "number" cannot be kept: ` + errOutOfRange.Error(),
			}},
		},
		"Check": {
			reason: "A check lists the tasks that would change something, with redacted diffs, and without values that no_log hides.",
			stream: "check",
			want: want{summary: Summary{
				Started: true,
				Play:    "Change things", Task: "Do not run", Tasks: 5, Ran: 4,
				Totals: common.HostTotals{OK: 4, Changed: 3, Skipped: 1},
				Changed: []common.DriftTask{
					{
						Task: "Write a file", Host: "localhost",
						Diff: "--- before\n+++ after: file\n@@ -0,0 +1,2 @@\n+password: ********\n+line",
					},
					{Task: "Write silently", Host: "localhost"},
					{
						Task: "Make files", Host: "localhost",
						Diff: "--- before\n+++ after\n@@ -1,4 +1,4 @@\n {\n     \"path\": \"one\",\n" +
							"-    \"state\": \"absent\"\n+    \"state\": \"directory\"\n }\n" +
							"--- before\n+++ after\n@@ -1,4 +1,4 @@\n {\n     \"path\": \"two\",\n" +
							"-    \"state\": \"absent\"\n+    \"state\": \"directory\"\n }",
					},
				},
				Finished: true, Processed: 1,
			}},
		},
		"NoHosts": {
			reason: "A play without hosts processes none, and warns about the pattern.",
			stream: "nohosts",
			want: want{
				summary:  Summary{Play: "For nobody", Finished: true, Unmatched: true},
				text:     "[WARNING]: Could not match supplied host pattern, ignoring: nobody",
				warnings: "Could not match supplied host pattern, ignoring: nobody",
			},
		},
		"Tags": {
			reason: "Facts are gathered with any tags; this does not count as a task.",
			stream: "tags",
			want: want{summary: Summary{
				Started: true,
				Play:    "Only facts", Task: "Gathering Facts", Totals: common.HostTotals{OK: 1}, Finished: true, Processed: 1,
			}},
		},
		"NoModule": {
			reason: "The error is shown, and not the warning before it.",
			stream: "nomodule",
			want: want{
				text: "couldn't resolve module/action 'acme.postgres.database'. This often indicates a misspelling, " +
					"missing collection, or incorrect module path; unless it is misspelt, its role or collection is to be in spec.requirements of the configuration, or in the requirements.yml of a project\nOrigin: playbook.yml:5:5",
				warnings: "Error loading plugin 'acme.postgres.database': No module named 'ansible_collections.acme'",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, golden(t, tc.stream), Options{Hidden: []string{playDir + "/project/"}, Secrets: redact.New(redact.InFile("hunter22", redact.Source{}))})
			got := want{summary: r.Summary(), text: r.Text(), warnings: r.Warnings()}

			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// line returns a line of a stream.
func line(kind string, data any) string {
	raw, err := json.Marshal(map[string]any{"event": kind, "uuid": "u", "counter": 1, "event_data": data})
	if err != nil {
		panic(err)
	}

	return string(raw) + "\n"
}

// failed returns the event of a task that failed with a result.
func failed(host string, res any) string {
	return line(hostFailed, map[string]any{"play": "play", "task": "task", "host": host, "res": res, "ignore_errors": nil})
}

func TestMessages(t *testing.T) {
	long := strings.Repeat("ä", maxMessage)

	for name, tc := range map[string]struct {
		reason string
		stream string
		want   string
	}{
		"Long": {
			reason: "A long message is cut between characters.",
			stream: failed("h", map[string]any{"msg": long}),
			want:   long[:maxMessage-4] + "…",
		},
		"Types": {
			reason: "The message is read although other fields have unexpected types.",
			stream: failed("h", map[string]any{"failed": "yes", "changed": []int{1}, "censored": 1, "msg": "the reason"}),
			want:   "the reason",
		},
		"IncludeVars": {
			reason: "include_vars has its message in another field.",
			stream: failed("h", map[string]any{"msg": "Task failed: Action failed: Unknown error.", "message": "no such file"}),
			want:   "no such file",
		},
		"FailedWhen": {
			reason: "A result without a message may have failed because of failed_when.",
			stream: failed("h", map[string]any{"msg": "Task failed: Action failed: Unknown error.", "failed_when_result": true}),
			want:   failedWhen,
		},
		"LeftOut": {
			reason: "If ansible-runner has left the result out, the failed item has the cause.",
			stream: line(itemFailed, map[string]any{"host": "h", "task_uuid": "t", "res": map[string]any{"msg": "the reason"}}) +
				line(itemFailed, map[string]any{"host": "h", "task_uuid": "t", "res": map[string]any{"msg": "another"}}) +
				line(hostFailed, map[string]any{"host": "h", "task_uuid": "t", "res": map[string]any{}}),
			want: "the reason",
		},
		"Together": {
			reason: "Several hosts execute a loop at the same time.",
			stream: line(itemFailed, map[string]any{"host": "h", "task_uuid": "t", "res": map[string]any{"msg": "one"}}) +
				line(itemFailed, map[string]any{"host": "i", "task_uuid": "t", "res": map[string]any{"msg": ", two"}}) +
				line(hostFailed, map[string]any{"host": "h", "task_uuid": "t", "res": map[string]any{}}) +
				line(hostFailed, map[string]any{"host": "i", "task_uuid": "t", "res": map[string]any{}}),
			want: "one, two",
		},
		"Transfer": {
			reason: "The message begins with the full disk, and not with the path of a module.",
			stream: failed("h", map[string]any{
				"msg": "failed to transfer file to /tmp/x /home/u/.ansible/tmp/ansible-tmp-1/AnsiballZ_ping.py:\n\nscp: write: No space left on device\nbye",
			}),
			want: "scp: write: No space left on device\nfailed to transfer file to /tmp/x AnsiballZ_ping.py:\n\nbye",
		},
		"Nested": {
			reason: "Results of failed modules are not nested further.",
			stream: failed("h", map[string]any{"msg": "failed", "failed_modules": map[string]any{"setup": map[string]any{"failed_modules": map[string]any{"inner": map[string]any{"msg": "no"}}}}}),
			want:   "failed",
		},
		"Silent": {
			reason: "A module may not report the cause.",
			stream: failed("h", map[string]any{"msg": "Task failed: Module failed: Unknown error."}),
			want:   "the module does not say why",
		},
		"Until": {
			reason: "A task without a message may have failed all attempts of until.",
			stream: failed("h", map[string]any{"msg": "Task failed: Action failed: Unknown error.", "attempts": 3}),
			want:   "its 'until' was not true (attempts: 3)",
		},
		"Displayed": {
			reason: "If ansible-runner has left out a result that is too large, Ansible's display has the cause.",
			stream: `{"event": "runner_on_failed", "uuid": "u", "stdout": "TASK [x]\r\n[ERROR]: Task failed: the reason\r\n` +
				`Origin: x.yml:1:1\r\n\r\nfatal: [h]: FAILED! => {", "event_data": {"host": "h", "res": {}}}` + "\n",
			want: "the reason: its result is too large to be read\nOrigin: x.yml:1:1",
		},
		"Control": {
			reason: "Reports have no control characters.",
			stream: failed("h", map[string]any{"msg": "\x1b[31mred\x1b[0m\r\n\x07bell\ttab"}),
			want:   "red\nbell\ttab",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, f := range record(t, tc.stream, Options{}).Summary().Failures {
				got += f.Message
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want message, +got message:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMistake(t *testing.T) {
	if err := record(t, "text\n", Options{}).Err(); err != nil {
		t.Errorf("Text should not be an error, got %v", err)
	}

	stream := line(playStart, map[string]any{"name": "p"}) + line(stats, map[string]any{"ok": map[string]int{"h": 1}})
	calls := 0
	r := record(t, stream, Options{Watch: Watch{Progress: func(Summary) {
		if calls++; calls == 1 {
			panic("a mistake")
		}
	}}})

	if r.Err() == nil {
		t.Error("A line that cannot be read should be an error.")
	}

	if !r.Summary().Finished {
		t.Error("Later lines should be read.")
	}
}

func TestBounds(t *testing.T) {
	var stream strings.Builder

	for i := range 1000 {
		host := fmt.Sprintf("h%d", i)
		stream.WriteString(failed(host, map[string]any{"msg": "rescued"}))
		stream.WriteString(failed(host, map[string]any{"msg": "failed"}))
		stream.WriteString(line(hostOK, map[string]any{"host": host, "res": map[string]any{"changed": true}}))
		stream.WriteString("some text\n")
	}

	stream.WriteString(line(stats, map[string]any{"failures": map[string]int{"h0": 1, "h1": 1}}))

	r := record(t, stream.String(), Options{})
	s := r.Summary()

	want := []common.Failure{
		{Task: "task", Host: "h0", Message: "rescued", Rescued: true},
		{Task: "task", Host: "h0", Message: "failed"},
		{Task: "task", Host: "h1", Message: "rescued", Rescued: true},
		{Task: "task", Host: "h1", Message: "failed"},
	}
	if diff := cmp.Diff(want, s.Failures); diff != "" {
		t.Errorf("The last failures of each host should be those that were not rescued.\n-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(MaxChanged, len(s.Changed)); diff != "" {
		t.Errorf("The number of changed tasks should be bounded.\n-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(2*maxKept, len(r.textLog.lines())); diff != "" {
		t.Errorf("The text should be bounded.\n-want, +got:\n%s", diff)
	}
}

func TestOutputsTooLarge(t *testing.T) {
	data := map[string]any{"artifact_data": map[string]any{"a": strings.Repeat("x", MaxOutputs)}}

	if s := record(t, line(stats, data), Options{}).Summary(); s.Outputs != nil || s.OutputsSize <= MaxOutputs || !s.Finished {
		t.Errorf("Outputs that are too large should be left out, with their size.\ngot %d bytes of outputs, size %d, finished %t", len(s.Outputs), s.OutputsSize, s.Finished)
	}
}

func TestMemory(t *testing.T) {
	const size = 64 << 20

	r := NewRecorder(Options{})
	piece := []byte(strings.Repeat("x", 1<<20))
	before := heap()

	// A recorder keeps neither an endless event nor an endless line of text.
	for _, start := range []string{`{"event": "`, "text "} {
		_, _ = r.Stdout().Write([]byte(start))

		for range size / len(piece) / 2 {
			_, _ = r.Stdout().Write(piece)
		}

		_, _ = r.Stdout().Write([]byte("\n"))
	}

	if after := heap(); after > before+size/8 {
		t.Errorf("The memory of a recorder should be bounded.\ngot %d MiB more after reading %d MiB", (after-before)>>20, size>>20)
	}

	runtime.KeepAlive(r)
}

// heap returns the size of the heap in use, in bytes.
func heap() uint64 {
	var m runtime.MemStats

	runtime.GC()
	runtime.ReadMemStats(&m)

	return m.HeapAlloc
}

func TestBehind(t *testing.T) {
	var got []string

	record(t, golden(t, "failures"), Options{Watch: Watch{Progress: func(s Summary) {
		if s.Task != "" && !s.Finished {
			got = append(got, s.Behind)
		}
	}}})

	want := []string{"", "1 of 2 hosts left behind", "2 of 3 hosts left behind", "3 of 4 hosts left behind"}
	if diff := cmp.Diff(want, got[:min(len(got), 4)]); diff != "" {
		t.Errorf("Failed hosts should not take part in later tasks.\n-want, +got:\n%s", diff)
	}
}

func TestVersions(t *testing.T) {
	const first = `{"event": "versions", "uuid": "run", "event_data": {"ansibleCore": "2.16.1", "ansibleRunner": "2.3.0", "python": "3.12.4", "unfit": ""}}` + "\n"

	want := Summary{Versions: "ansible-core 2.16.1, ansible-runner 2.3.0, Python 3.12.4"}
	forged := `{"event": "versions", "uuid": "1", "event_data": {"ansibleCore": "9.9.9", "unfit": "it is"}}` + "\n"

	if diff := cmp.Diff(want, record(t, first+forged, Options{}).Summary()); diff != "" {
		t.Errorf("Only the first event should set the versions: -want, +got:\n%s", diff)
	}
}

// TestCutSecrets has secrets at the places where text is cut: half of a secret cannot be found.
func TestCutSecrets(t *testing.T) {
	long := make([]byte, 2*maxOutputEnd)
	for i := range long {
		long[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[i*i%36]
	}

	for name, tc := range map[string]struct {
		reason, secret, stderr string
	}{
		"Longer":   {reason: "A token is longer than the part of a line that is kept.", secret: string(long), stderr: "Authorization: Bearer " + string(long)},
		"AtTheCut": {reason: "A password is where a line is cut.", secret: "correct-horse-battery", stderr: "-pcorrect-horse-battery " + strings.Repeat("x", maxOutputEnd-10)},
		"Colored":  {reason: "An escape sequence is inside the password.", secret: "correct-horse-battery", stderr: "-pcorrect-\x1b[1mhorse-battery " + strings.Repeat("x", maxOutputEnd-10)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, items := range []bool{false, true} {
				stream := failed("h", map[string]any{"failed": true, "msg": "non-zero return code", "rc": 1, "stderr": tc.stderr})
				if items {
					stream = strings.Replace(stream, hostFailed, itemFailed, 1) + failed("h", map[string]any{"msg": "One or more items failed"})
				}

				got := record(t, stream, Options{Secrets: redact.New(redact.InFile(tc.secret, redact.Source{}))}).Summary().Failures[0].Message
				if end := tc.secret[len(tc.secret)-8:]; strings.Contains(got, end) || !strings.Contains(got, "non-zero return code") {
					t.Errorf("%s\nwant the exit status, and no part of %q, got %q", tc.reason, tc.secret, got)
				}
			}
		})
	}
}

// TestExcessDetails has content that publishes other connection details again and again.
// To keep them all would need all memory.
func TestExcessDetails(t *testing.T) {
	r := NewRecorder(Options{Tail: true})
	published := func(secret string) {
		line := `{"uuid": "u", "event": "runner_on_ok", "event_data": {"host": "h", "task": "t", "res": {"ansible_stats": {"data": {"connection_details": {"a": "` +
			secret + strings.Repeat("x", 200<<10) + `", "b": "` + secret + `"}}}}}}`
		_, _ = r.Stdout().Write([]byte(line + "\n"))
	}

	_, _ = r.Stdout().Write([]byte(failed("h", map[string]any{"msg": "no hunter99 here"})))

	bomb.Defuse(t, func() {
		for i := range 100 {
			published("hunter" + strconv.Itoa(i))
		}
	})

	_, _ = r.Stdout().Write([]byte(failed("h", map[string]any{"msg": "no hunter98 here"})))
	_, _ = r.Stdout().Write([]byte(`{"uuid": "u", "event": "playbook_on_stats", "event_data": {"processed": {"h": 1}, "failures": {"h": 2}, "artifact_data": {"a": "hunter99"}}}` + "\n"))
	r.Close()

	s := r.Summary()
	s.ConnectionDetails = nil

	if text := fmt.Sprintf("%+v %s %s", s, s.Outputs, r.Tail()); !s.ExcessDetails || strings.Contains(text, "hunter9") {
		t.Errorf("Nothing should be shown of a run that published too much, got %s", text)
	}
}
