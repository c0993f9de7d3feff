// Package sealed transports the reports of a run out of its Pod through the Pod's log, which others may read. A report
// is a line of the log, encrypted and authenticated with a key that only the run and the provider have. Other readers
// of the log learn nothing from it, and content cannot forge reports. The command of the Pod writes reports, and the
// backend of Pods reads them.
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
	// MaxFrame is the length of the longest frame, in bytes of JSON. A report has at most half of that: a Secret in
	// base64, and a few texts of 64 KiB.
	MaxFrame = 4 << 20
	// MaxLine is the length of the longest line with a frame. It has room for a Secret and those texts even if they cannot
	// be compressed. A provider reads many lines at a time.
	MaxLine = 5 << 19
	// maxCommas is how many commas, and so how many values, the JSON of a frame may have: a list of empty tasks takes
	// thirty times its length in memory. Outputs and a text have fewer.
	maxCommas = 1 << 17
	// commaCost is the cost of a value in the terms of Reader.Read: it takes as long to decode as so many bytes of text.
	commaCost = 64
	// minLine is below the length of the shortest frame.
	minLine = 128
	// prefix of a line with a frame.
	prefix = "ansible.crossplane.io/report:"
)

// A frame is a report with a number, from 1, which grows.
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

// A box seals and opens the frames of one run in one Pod.
type box struct {
	aead cipher.AEAD
	from []byte
}

// newBox returns the box of a run in a Pod. It does not open frames of another run with the same key, or of another Pod
// of the run: content could repeat frames from the log of that Pod.
func newBox(key []byte, runID, podUID string) (box, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return box{}, errors.Wrap(err, "cannot use the key")
	}

	aead, err := cipher.NewGCMWithRandomNonce(block)

	return box{aead: aead, from: []byte(runID + "\x00" + podUID)}, errors.Wrap(err, "cannot use the key")
}

// minInterval is the shortest time between two reports of the same phase. A new phase, and so the end, is reported at
// once.
const minInterval = 500 * time.Millisecond

// A Writer writes the reports of a run, and the output for people, to the log of its Pod.
type Writer struct {
	box

	log io.Writer

	mu sync.Mutex
	// next report, which the timer writes.
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

// Report writes a report, now or soon. A report is complete by itself, so that the next one makes up for one that could
// not be written.
func (w *Writer) Report(r runs.Report) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.next = r

	switch {
	case r.Run.Phase != w.phase:
		return w.flush()
	case w.timer == nil:
		w.timer = time.AfterFunc(minInterval, func() {
			w.mu.Lock()
			defer w.mu.Unlock()

			if w.timer != nil {
				_ = w.flush()
			}
		})
	}

	return nil
}

// Display writes text to the log.
func (w *Writer) Display(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	_, _ = io.WriteString(w.log, strings.TrimRight(text, "\n")+"\n")
}

// flush writes the next report. The caller holds the lock.
func (w *Writer) flush() error {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}

	w.phase = w.next.Run.Phase
	w.number++

	text := &bytes.Buffer{}
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false) // Escapes would make outputs longer.

	if err := enc.Encode(frame{w.number, w.next}); err != nil { //nolint:musttag // The same program reads it.
		return errors.Wrap(err, "cannot encode a report")
	}

	packed := &bytes.Buffer{}

	z, err := flate.NewWriter(packed, flate.BestSpeed)
	if err != nil {
		return errors.Wrap(err, "cannot compress a report")
	}

	_, _ = z.Write(text.Bytes()) // A buffer accepts everything.
	_ = z.Close()

	box := w.aead.Seal(nil, nil, packed.Bytes(), w.from) //nolint:gosec // It makes a random nonce itself.
	line := append(base64.StdEncoding.AppendEncode([]byte(prefix), box), '\n')

	if tooLong(text.Bytes()) || len(line) > MaxLine {
		return errors.Errorf("a report of %d bytes is too long", text.Len())
	}

	_, err = w.log.Write(line)

	return errors.Wrap(err, "cannot write a report")
}

// tooLong is true for JSON that exceeds the limits of a frame.
func tooLong(text []byte) bool {
	return len(text) > MaxFrame || commas(text) > maxCommas
}

func commas(text []byte) int { return bytes.Count(text, []byte(",")) }

// MayBeReport is true for a line with the prefix and the least length of a report.
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

// Read decodes a line. It returns false for a line that is no report of this run in this Pod, and for a report that is
// not newer than the last one: a log may be read twice, and content may repeat lines. The cost is the length of the
// decoded JSON, plus commaCost for each of its values, also for a refused line.
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
