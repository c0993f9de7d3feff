package events

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// A Recorder reads the output of ansible-runner and keeps a summary of it.
type Recorder struct {
	// secrets are the secrets of the inputs, and the connection details that the content has published so far.
	secrets *redact.Set
	// inputs are the secrets of the inputs alone.
	inputs   *redact.Set
	hidden   []string
	watch    Watch
	confined bool

	out, err lines

	// progressing is locked while Watch.Progress is called, because of an event or of a status that content sets. Once
	// closed is true, it is not called any more.
	progressing sync.Mutex
	closed      bool

	mu sync.Mutex
	// status is the status that earlier runs have reported.
	status json.RawMessage
	// withheld are the withheld fields of status.
	withheld common.Withheld
	// set and outputs are the status and the outputs that this run has reported, with secrets. The summary has the parts
	// that are not withheld.
	set     json.RawMessage
	outputs map[string]json.RawMessage
	summary Summary
	textLog textLog
	// tail is the end of the display; nil unless it is kept.
	tail *LogTail
	// taskUUID of the task in progress.
	taskUUID string
	// details are the connection details that were published last.
	details json.RawMessage
	// learned is the total length of all versions of the connection details that were published, in bytes.
	learned int
	// items and diff are texts for the next result of a task: the failure of an item, by host, and the diff.
	items map[string]pending
	diff  pending
	// left has the hosts on which a task has ended. The value is true for hosts that have left the plays.
	left map[string]bool
	// broken is true once reading a line has panicked.
	broken bool
}

// Options of a Recorder.
type Options struct {
	// Secrets are redacted in reports.
	Secrets *redact.Set
	// Hidden texts are removed from reports, such as the path of the private data directory, which differs in each run.
	Hidden []string
	// Watch of the run.
	Watch Watch
	// Confined is true if the run is confined.
	Confined bool
	// Tail is true to keep the end of the display.
	Tail bool
	// Status that earlier runs have reported: a JSON object, or nil.
	Status json.RawMessage
	// Withheld fields of that status.
	Withheld common.Withheld
}

// NewRecorder returns a recorder of one run.
func NewRecorder(o Options) *Recorder {
	if o.Secrets == nil {
		o.Secrets = redact.New(nil)
	}

	r := &Recorder{
		secrets: o.Secrets.Clone(), inputs: o.Secrets, hidden: slices.Clone(o.Hidden), watch: o.Watch, status: o.Status,
		withheld: maps.Clone(o.Withheld), items: map[string]pending{},
		left: map[string]bool{}, confined: o.Confined,
	}

	// A hidden path may contain a secret, and text is redacted first.
	for _, h := range o.Hidden {
		r.hidden = append(r.hidden, o.Secrets.Text(h))
	}

	if o.Tail {
		r.tail, r.summary.Tail = &LogTail{}, r.Tail
	}

	if r.watch.Progress == nil {
		r.watch.Progress = func(Summary) {}
	}

	r.out.emit = r.guard(r.line)
	r.err.emit = r.guard(r.text)

	return r
}

// Stdout returns the writer for the standard output of ansible-runner.
func (r *Recorder) Stdout() io.Writer { return &r.out }

// Stderr returns the writer for the standard error of ansible-runner.
func (r *Recorder) Stderr() io.Writer { return &r.err }

// Close reads the rest of the output when ansible-runner has ended, and reports the progress for the last time.
func (r *Recorder) Close() {
	r.out.Flush()
	r.err.Flush()

	r.progressing.Lock()
	defer r.progressing.Unlock()

	r.closed = true
	r.watch.Progress(r.Summary())
}

// Err returns an error if the summary is incomplete, because reading a line has panicked.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.broken {
		return errors.New("cannot read a line of ansible-runner; the log of the provider has a stack trace")
	}

	return nil
}

// guard returns read with recovery from panics. Content writes the lines: a line that the recorder cannot read must not
// end the runs of other objects.
func (r *Recorder) guard(read func(line []byte)) func(line []byte) {
	return func(line []byte) {
		defer redact.Panic(func() {
			r.mu.Lock()
			defer r.mu.Unlock()

			r.broken = true
		})

		read(line)
	}
}

// Summary returns the redacted summary of the events so far.
func (r *Recorder) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()

	s := r.summary
	s.Failures = slices.Clone(s.Failures)
	s.Changed = slices.Clone(s.Changed)
	s.Report.Conditions = slices.Clone(s.Report.Conditions) // Its maps are replaced and not changed.

	return s
}

// Text returns an explanation of a failure from the text outside of events: Ansible's error, or else the last lines. It
// is redacted, and at most maxMessage long.
func (r *Recorder) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return withHint(r.field(bare(r.textLog.failure()), maxMessage), r.confined)
}

// Warnings returns the first few warnings that Ansible displayed, redacted and together at most maxMessage long.
func (r *Recorder) Warnings() string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return withHint(r.field(strings.Join(r.textLog.warnings(), "\n"), maxMessage), r.confined)
}

// Tail returns the end of the display, redacted and at most MaxTail long; empty unless Options.Tail is set.
func (r *Recorder) Tail() string {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.tail == nil {
		return ""
	}

	// Lines may have secrets that became known later.
	return r.tail.end(func(log string) string { return r.clean(log, len(log)) })
}

func (r *Recorder) text(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()

	text := r.clean(string(line), len(line))
	r.textLog.add(clip.Text(text, maxText))
	r.display(text)
}

func (r *Recorder) line(line []byte) {
	e, ok := parse(line)
	if !ok {
		r.text(line)

		return
	}

	// ansible-runner wraps lines of text that the callback plugin did not write.
	if e.Kind == verbose && e.Data == nil {
		r.text([]byte(withoutCutEnd(e.Stdout)))

		return
	}

	if r.record(e) {
		r.progressing.Lock()
		defer r.progressing.Unlock()

		r.watch.Progress(r.Summary())
	}
}

// record records an event. It returns true if Watch.Progress is to be called.
func (r *Recorder) record(e event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	switch e.Kind {
	case versions:
		r.recordVersions(e)

		return false
	case stats:
		r.finish(e)
		r.show(e.Stdout, r.summary.ConnectionDetails != nil)

		return false
	}

	var d data

	// A field of another type stays empty.
	_ = json.Unmarshal(e.Data, &d)

	details := published(d.Result)
	if details != nil {
		r.learnSecrets(details)
	}

	r.show(e.Stdout, details != nil)

	switch e.Kind {
	case playStart:
		r.summary.Play, r.summary.Task = r.name(d.Name), ""

		return true
	case start:
		r.summary.Cold = r.name(d.Cold)
	case noHosts:
		r.summary.Unmatched = true
	case taskStart:
		r.startTask(d)

		return true
	case shownError, shownWarning, systemWarning:
		r.textLog.addAll(r.clean(e.Stdout, len(e.Stdout)))
	default:
		r.recordHost(e, d)
		r.recordRequeue(e, d)

		return r.recordReport(e, d)
	}

	return false
}

// show displays the text of an event, without connection details.
func (r *Recorder) show(stdout string, details bool) {
	if r.tail == nil && r.watch.Display == nil || stdout == "" {
		return
	}

	shown := withoutCutEnd(stdout)

	for _, start := range []string{" => {", "CUSTOM STATS: "} {
		if before, _, found := strings.Cut(shown, start); found && details {
			shown = before + " => (connection details are not shown)"
		}
	}

	r.display(r.clean(shown, len(shown)))
}

// display adds redacted text to the tail, and passes it to Watch.Display.
func (r *Recorder) display(text string) {
	if r.tail != nil {
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			r.tail.Add([]byte(line))
		}
	}

	if r.watch.Display != nil {
		r.watch.Display(text)
	}
}

// recordVersions records the versions of the tools from the first event. A later event of this kind is a forgery of the
// play.
func (r *Recorder) recordVersions(e event) {
	var t tools
	if r.summary.Versions != "" || json.Unmarshal(e.Data, &t) != nil {
		return
	}

	r.summary.Versions = r.name(
		"ansible-core " + t.AnsibleCore + ", ansible-runner " + t.AnsibleRunner + ", Python " + t.Python)
	r.summary.Unfit = r.field(t.Unfit, maxMessage)
}

func (r *Recorder) startTask(d data) {
	r.summary.Started = true
	r.taskUUID = d.TaskUUID
	r.summary.Task = r.name(d.Name)
	r.summary.Behind = r.behind()

	if d.TaskAction != gatherFacts {
		r.summary.Tasks++
	}
}

// finish records Ansible's final statistics.
func (r *Recorder) finish(e event) {
	var t totals
	if json.Unmarshal(e.Data, &t) != nil {
		return
	}

	r.summary.Finished = true
	r.summary.Processed = int(sum(t.Processed))
	r.summary.Totals = common.HostTotals{
		OK: sum(t.OK), Changed: sum(t.Changed), Failed: sum(t.Failures), Unreachable: sum(t.Dark),
		Skipped: sum(t.Skipped), Rescued: sum(t.Rescued), Ignored: sum(t.Ignored),
	}
	r.summary.Failures = r.judge(t)
	r.summary.OutputsSize = max(t.ArtifactsSize, r.summary.OutputsSize)
	r.finishOutputs(t.Artifacts)
}

// judge returns the failures of the hosts that have failed according to the statistics. They count the failures of a
// host that were not rescued, which are its last ones. The earlier failures were rescued, and are often the cause.
func (r *Recorder) judge(t totals) []common.Failure {
	failed := map[string]int64{}

	for _, counts := range []map[string]int64{t.Failures, t.Dark} {
		for host, n := range counts {
			failed[r.hostname(host)] += n
		}
	}

	left := maps.Clone(failed)

	var found []common.Failure

	for _, f := range slices.Backward(r.summary.Failures) {
		host := f.Host
		if failed[host] == 0 {
			host = ""
		}

		left[host]--

		if f.Rescued = left[host] < 0; failed[host] > 0 {
			found = append(found, f)
		}
	}

	slices.Reverse(found)

	return found
}

// task returns the name of the task of an event. The name of the task in progress is templated, as in Ansible's
// display.
func (r *Recorder) task(d data) string {
	if d.TaskUUID != "" && d.TaskUUID == r.taskUUID {
		return r.summary.Task
	}

	return r.name(d.task())
}

func (r *Recorder) name(s string) string { return r.field(s, MaxName) }

// hostname returns the name of a host, redacted with the secrets of the inputs only: connection details often contain
// the name of a host, which is not a secret.
func (r *Recorder) hostname(s string) string { return r.inputs.Clip(plain(s), MaxName) }

// field returns a text for a field of the status: redacted, and at most limit bytes long. Hidden texts are removed
// before the text is cut; they are rarely longer than the rest.
func (r *Recorder) field(s string, limit int) string {
	return clip.Text(strings.TrimSpace(r.clean(strings.TrimSpace(s), 2*limit)), limit)
}

// clean returns the redacted start of a text, without control characters and hidden texts.
func (r *Recorder) clean(s string, limit int) string {
	return r.visible(r.secrets.Clip(plain(s), limit))
}

// end returns the redacted end of a text, without control characters and hidden texts.
func (r *Recorder) end(s string, limit int) string {
	return r.visible(r.secrets.End(plain(s), limit))
}

// visible returns a text without hidden texts; empty once too many connection details were published.
func (r *Recorder) visible(s string) string {
	if r.summary.ExcessDetails {
		return ""
	}

	for _, h := range r.hidden {
		s = strings.ReplaceAll(s, h, "")
	}

	return s
}
