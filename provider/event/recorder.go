package event

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// A Recorder reads what ansible-runner writes and keeps a summary of it. Use
// NewRecorder.
type Recorder struct {
	redactor redact.Redactor
	hidden   []string
	progress func(Summary)
	seen     func(counter int64, uuid string)

	out, err lines

	mu      sync.Mutex
	summary Summary
	output  output
	// taskUUID of the task in progress.
	taskUUID string
	// item and diff belong to a result that is not complete yet.
	item, diff pending
}

// pending is text that came before the result of a task on a host.
type pending struct {
	host, task, text string
}

// An Option of a Recorder.
type Option func(*Recorder)

// WithRedactor redacts everything that the recorder reports.
func WithRedactor(r redact.Redactor) Option {
	return func(rec *Recorder) { rec.redactor = r }
}

// WithHidden leaves texts out of what the recorder reports, such as the path of
// a directory that says nothing to the reader and is another in the next run.
func WithHidden(texts ...string) Option {
	return func(rec *Recorder) { rec.hidden = texts }
}

// WithProgress calls a function when a play or a task starts, and at the end.
// The stream waits for it.
func WithProgress(f func(Summary)) Option {
	return func(rec *Recorder) { rec.progress = f }
}

// WithSeen calls a function for each event, with what ansible-runner names the
// event's file by.
func WithSeen(f func(counter int64, uuid string)) Option {
	return func(rec *Recorder) { rec.seen = f }
}

// NewRecorder returns a recorder of one run.
func NewRecorder(o ...Option) *Recorder {
	r := &Recorder{
		progress: func(Summary) {},
		seen:     func(int64, string) {},
	}

	for _, fn := range o {
		fn(r)
	}

	r.out.emit = r.line
	r.err.emit = r.text

	return r
}

// Stdout is where the standard output of ansible-runner goes.
func (r *Recorder) Stdout() io.Writer { return &r.out }

// Stderr is where the standard error of ansible-runner goes.
func (r *Recorder) Stderr() io.Writer { return &r.err }

// Close reads what is left when ansible-runner has ended.
func (r *Recorder) Close() {
	r.out.Flush()
	r.err.Flush()
	r.progress(r.Summary())
}

// Summary of the events so far, redacted.
func (r *Recorder) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()

	s := r.summary
	s.Failures = slices.Clone(s.Failures)
	s.Changed = slices.Clone(s.Changed)

	return s
}

// Text explains a failure by what was written besides the events, redacted and
// at most MaxMessage long: Ansible's own error, or else the last lines.
func (r *Recorder) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.report(r.output.failure(), MaxMessage)
}

// Warnings that Ansible displayed, the first few, redacted and together at most
// MaxMessage long.
func (r *Recorder) Warnings() string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.report(strings.Join(r.output.warnings(), "\n"), MaxMessage)
}

func (r *Recorder) text(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.output.add(string(line))
}

func (r *Recorder) line(line []byte) {
	e, ok := parse(line)
	if !ok {
		r.text(line)

		return
	}

	r.seen(e.Counter, e.UUID)

	if r.record(e) {
		r.progress(r.Summary())
	}
}

// record an event. It returns true if what is in progress changed.
func (r *Recorder) record(e event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	if e.Kind == stats {
		r.finish(e)

		return false
	}

	var d data

	// A field that is not what it should be leaves the others set.
	_ = json.Unmarshal(e.Data, &d)

	switch e.Kind {
	case playStart:
		r.summary.Play, r.summary.Task = r.name(d.Name), ""

		return true
	case taskStart:
		r.startTask(d)

		return true
	case shownError, shownWarning, systemWarning:
		r.output.addAll(e.Stdout)
	default:
		r.host(e, d)
	}

	return false
}

func (r *Recorder) startTask(d data) {
	r.taskUUID = d.TaskUUID
	r.summary.Task = r.name(d.Name)

	if d.TaskAction != gatherFacts {
		r.summary.Tasks++
	}
}

// host records an event of a task on a host.
func (r *Recorder) host(e event, d data) {
	t := &r.summary.Totals

	switch e.Kind {
	case hostOK:
		t.OK++

		r.ran(d)
		r.change(e, d)
	case hostSkipped:
		t.Skipped++
	case hostDark:
		t.Unreachable++

		r.fail(e, d)
	case hostFailed:
		r.ran(d)

		if d.IgnoreErrors {
			t.OK++
			t.Ignored++

			r.change(e, d)

			return
		}

		t.Failed++

		r.fail(e, d)
	case itemFailed:
		if !r.item.of(d) {
			r.item = pending{host: d.Host, task: d.TaskUUID, text: parseResult(d.Result).explain()}
		}
	case fileDiff:
		r.keepDiff(e, d)
	}
}

func (r *Recorder) ran(d data) {
	if d.TaskAction != gatherFacts {
		r.summary.Ran++
	}
}

func (p pending) of(d data) bool {
	return p.text != "" && p.host == d.Host && p.task == d.TaskUUID
}

// keepDiff keeps what Ansible displays of a diff: nothing if it is censored.
func (r *Recorder) keepDiff(e event, d data) {
	diff := strings.TrimSpace(plain(e.Stdout))

	if r.diff.of(d) {
		diff = r.diff.text + "\n" + diff
	}

	// Redacted before it is cut: half a secret is not found any more.
	r.diff = pending{host: d.Host, task: d.TaskUUID, text: head(r.report(diff, maxText), maxText)}
}

func (r *Recorder) change(e event, d data) {
	res := parseResult(d.Result)

	// A censored result does not say whether it changed anything. What Ansible
	// displays for it does.
	if res.Censored != "" {
		res.Changed = strings.HasPrefix(plain(e.Stdout), "changed: ")
	}

	if !res.Changed {
		return
	}

	r.summary.Totals.Changed++

	if len(r.summary.Changed) == MaxChanged {
		return
	}

	c := common.DriftTask{Play: r.name(d.Play), Task: r.task(d), Host: r.name(d.Host)}
	if r.diff.of(d) {
		c.Diff = head(r.diff.text, MaxDiff)
	}

	r.summary.Changed = append(r.summary.Changed, c)
}

// fail records a failure. When there are too many, the last one of a host
// replaces the first one of the same host, which was rescued: a host whose
// failure is not rescued is out of the play.
func (r *Recorder) fail(e event, d data) {
	m := parseResult(d.Result).explain()

	if m == "" && r.item.of(d) {
		m = r.item.text
	}

	if m == "" {
		var shown output

		shown.addAll(e.Stdout)
		m = shown.failure()
	}

	f := common.Failure{Play: r.name(d.Play), Task: r.task(d), Host: r.name(d.Host), Message: r.report(m, MaxMessage)}

	if len(r.summary.Failures) == MaxFailures {
		i := slices.IndexFunc(r.summary.Failures, func(o common.Failure) bool { return o.Host == f.Host })
		if i < 0 {
			return
		}

		r.summary.Failures = slices.Delete(r.summary.Failures, i, i+1)
	}

	r.summary.Failures = append(r.summary.Failures, f)
}

// finish takes Ansible's own statistics.
func (r *Recorder) finish(e event) {
	var t totals
	if json.Unmarshal(e.Data, &t) != nil {
		return
	}

	r.summary.Finished = true
	r.summary.Processed = len(t.Processed)
	r.summary.Totals = common.HostTotals{
		OK: sum(t.OK), Changed: sum(t.Changed), Failed: sum(t.Failures), Unreachable: sum(t.Dark),
		Skipped: sum(t.Skipped), Rescued: sum(t.Rescued), Ignored: sum(t.Ignored),
	}
	r.summary.Failures = r.unrescued(t)
	r.outputs(t.Artifacts)
}

// unrescued returns the failures that the statistics count: of each host the
// last ones.
func (r *Recorder) unrescued(t totals) []common.Failure {
	left := map[string]int64{}

	for _, counts := range []map[string]int64{t.Failures, t.Dark} {
		for host, n := range counts {
			left[r.name(host)] += n
		}
	}

	var found []common.Failure

	for _, f := range slices.Backward(r.summary.Failures) {
		if left[f.Host] > 0 {
			left[f.Host]--

			found = append(found, f)
		}
	}

	slices.Reverse(found)

	return found
}

func (r *Recorder) outputs(raw json.RawMessage) {
	raw, r.summary.ConnectionDetails = splitDetails(raw)
	if text(raw) == "" || text(raw) == "{}" {
		return
	}

	var out bytes.Buffer
	if json.Compact(&out, r.redactor.JSON(raw)) != nil {
		return
	}

	r.summary.OutputsSize = out.Len()
	if out.Len() <= MaxOutputs {
		r.summary.Outputs = out.Bytes()
	}
}

// splitDetails takes the connection details out of the outputs.
func splitDetails(raw json.RawMessage) (outputs, details json.RawMessage) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil || all[ConnectionDetails] == nil {
		return raw, nil
	}

	details = all[ConnectionDetails]
	delete(all, ConnectionDetails)

	outputs, err := json.Marshal(all)
	if err != nil {
		return nil, details
	}

	return outputs, details
}

// task in progress has its name as Ansible displays it, templated.
func (r *Recorder) task(d data) string {
	if d.TaskUUID != "" && d.TaskUUID == r.taskUUID {
		return r.summary.Task
	}

	return r.name(d.task())
}

func (r *Recorder) name(s string) string { return r.report(s, MaxName) }

// report makes a text fit to be seen.
func (r *Recorder) report(s string, limit int) string {
	s = r.redactor.String(plain(s))

	for _, h := range r.hidden {
		s = strings.ReplaceAll(s, h, "")
	}

	return head(strings.TrimSpace(s), limit)
}
