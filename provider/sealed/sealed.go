// Package sealed carries the reports of a run out of its Pod, through the log of the
// Pod, which others may read. A report is a line of the log, encrypted and authenticated
// with a key that only the run and the provider have: other readers of the log learn
// nothing from it, and what content writes to the log is no report. The backend of Pods reads
// reports, the command of the Pod writes them.
package sealed

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

const (
	// MaxFrame is the length of the longest frame, in bytes of JSON. A report has at most half of
	// that: a Secret in base64, and a few texts of 64 KiB.
	MaxFrame = 4 << 20
	// MaxLine is the length of the longest line that may be a frame. It has room for a Secret and
	// those texts, also if they cannot be compressed. A provider reads many lines at a time.
	MaxLine = 5 << 19
	// maxCommas is how many commas the JSON of a frame has at most, and so how many values: a list of
	// empty tasks takes thirty times its length in memory. Outputs and a text have fewer.
	maxCommas = 1 << 17
	// commaCost is how many bytes of a text take as long to read as one more value.
	commaCost = 64
	// minLine is less than the length of the shortest frame.
	minLine = 128
	// prefix of the lines that are frames.
	prefix = "ansible.crossplane.io/report:"
)

// A frame is a report and its number, from 1, which grows.
type frame struct {
	Number uint64      `json:"number"`
	Report runs.Report `json:"report"`
}

// NewKey returns a random key.
func NewKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // It never fails.

	return key
}

// A box seals and opens frames of one run in one Pod.
type box struct {
	aead cipher.AEAD
	from []byte
}

// newBox for a run in a Pod. Frames of another run do not open, even if it has the same key, nor do
// those of another Pod of the run: content could repeat frames from its log.
func newBox(key []byte, runID, podUID string) (box, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return box{}, errors.Wrap(err, "cannot use the key")
	}

	aead, err := cipher.NewGCMWithRandomNonce(block)

	return box{aead: aead, from: []byte(runID + "\x00" + podUID)}, errors.Wrap(err, "cannot use the key")
}

// every is the time between two reports, at least. A new phase, and so the end, is reported at once.
const every = 500 * time.Millisecond

// A Writer writes the reports of a run to the log of its Pod, and what a terminal would show.
type Writer struct {
	box

	log io.Writer

	mu sync.Mutex
	// next report, which timer writes.
	next  runs.Report
	timer *time.Timer
	// phase and number of the last report.
	phase  common.RunPhase
	number uint64
}

// NewWriter returns a writer to the log of a Pod. Each report is one call of log.Write.
func NewWriter(log io.Writer, key []byte, runID, podUID string) (*Writer, error) {
	b, err := newBox(key, runID, podUID)

	return &Writer{box: b, log: log}, err
}

// Report what is known so far. The next report says all that is in one that cannot be written.
func (w *Writer) Report(r runs.Report) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.next = r

	switch {
	case r.Run.Phase != w.phase:
		return w.flush()
	case w.timer == nil:
		w.timer = time.AfterFunc(every, func() {
			w.mu.Lock()
			defer w.mu.Unlock()

			if w.timer != nil {
				_ = w.flush()
			}
		})
	}

	return nil
}

// Display text in the log.
func (w *Writer) Display(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	_, _ = io.WriteString(w.log, strings.TrimRight(text, "\n")+"\n")
}

// flush the next report. The writer is locked.
func (w *Writer) flush() error {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}

	w.phase = w.next.Run.Phase
	w.number++

	text := &bytes.Buffer{}
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false) // Outputs are not to become longer.

	if err := enc.Encode(frame{w.number, w.next}); err != nil { //nolint:musttag // The same program reads it.
		return errors.Wrap(err, "cannot encode a report")
	}

	packed := &bytes.Buffer{}

	z, err := flate.NewWriter(packed, flate.BestSpeed)
	if err != nil {
		return errors.Wrap(err, "cannot compress a report")
	}

	_, _ = z.Write(text.Bytes()) // A buffer takes everything.
	_ = z.Close()

	box := w.aead.Seal(nil, nil, packed.Bytes(), w.from) //nolint:gosec // It makes a random nonce itself.
	line := append(base64.StdEncoding.AppendEncode([]byte(prefix), box), '\n')

	if tooLong(text.Bytes()) || len(line) > MaxLine {
		return errors.Errorf("a report of %d bytes is too long", text.Len())
	}

	_, err = w.log.Write(line)

	return errors.Wrap(err, "cannot write a report")
}

// tooLong is true for JSON that is none of a frame.
func tooLong(text []byte) bool {
	return len(text) > MaxFrame || commas(text) > maxCommas
}

func commas(text []byte) int { return bytes.Count(text, []byte(",")) }

// MayBeReport is false for a line that does not begin as a report does, and for one that is too short.
func MayBeReport(line []byte) bool {
	return len(line) >= minLine && bytes.HasPrefix(line, []byte(prefix))
}

// A Reader recognizes reports among the lines of a log.
type Reader struct {
	box

	// Number of the last report that was read.
	Number uint64
}

// NewReader returns a reader of the reports of a run in a Pod.
func NewReader(key []byte, runID, podUID string) (*Reader, error) {
	b, err := newBox(key, runID, podUID)

	return &Reader{box: b}, err
}

// Read a line. It is false for one that is no report of this run in this Pod, and for one that was
// read before: a log may be read twice, and content may write what it has found there. The cost is the
// length of the JSON that was read, also of what is refused: more than it has where it has many values.
func (r *Reader) Read(line []byte) (report runs.Report, cost int, ok bool) {
	coded, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte(prefix))
	if !ok || len(coded) > MaxLine {
		return report, 0, false
	}

	sealed, err := base64.StdEncoding.AppendDecode(nil, coded)
	if err != nil {
		return report, 0, false
	}

	packed, err := r.aead.Open(sealed[:0], nil, sealed, r.from)
	if err != nil {
		return report, 0, false
	}

	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxFrame+1))
	cost = len(text) + commaCost*min(commas(text), maxCommas)

	if err != nil || tooLong(text) {
		return report, cost, false
	}

	f := frame{}
	if json.Unmarshal(text, &f) != nil || f.Number <= r.Number { //nolint:musttag // The same program has written it.
		return report, cost, false
	}

	r.Number = f.Number

	return f.Report, cost, true
}
