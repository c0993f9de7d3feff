// Package sealed carries the reports of a run out of its Pod, through the log of the
// Pod, which others may read. A frame is a line of the log, encrypted and authenticated
// with a key that only the run and the provider have: whoever reads the log learns
// nothing from it, and what content writes to the log is no frame. Executors of Pods read
// frames, the command of the Pod writes them.
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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

const (
	// KeySize is the length of a key, in bytes.
	KeySize = 32
	// MaxFrame is the length of the longest frame, in bytes of JSON. A report has at most half of
	// that: a Secret in base64, and a few texts of 64 KiB. A provider reads many frames at a time.
	MaxFrame = 4 << 20
	// MaxLine is the length of the longest line that may be a frame.
	MaxLine = MaxFrame/3*4 + 1<<10
	// prefix of the lines that are frames.
	prefix = "ansible.crossplane.io/report:"
)

// A Frame is what a run tells at one moment.
type Frame struct {
	// Number of the frame, from 1, which grows.
	Number uint64 `json:"number"`
	// Time at which the frame was written.
	Time time.Time `json:"time"`
	// Report of all that is known so far. Its digests are empty: the Pod has no key for them.
	Report executor.Report `json:"report"`
	// Tasks that have ended since the frame before.
	Tasks []events.TaskResult `json:"tasks,omitempty"`
	// Final is true for the last frame.
	Final bool `json:"final,omitempty"`
}

// NewKey returns a random key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // It never fails.

	return key
}

// A box seals and opens frames of one run.
type box struct {
	aead cipher.AEAD
	run  []byte
}

// newBox for a run. Frames of another run do not open, even if it has the same key.
func newBox(key []byte, runID string) (box, error) {
	if len(key) != KeySize {
		return box{}, errors.Errorf("the key of a run must have %d bytes, not %d", KeySize, len(key))
	}

	block, err := aes.NewCipher(key)
	if err != nil {
		return box{}, errors.Wrap(err, "cannot use the key")
	}

	aead, err := cipher.NewGCMWithRandomNonce(block)

	return box{aead: aead, run: []byte(runID)}, errors.Wrap(err, "cannot use the key")
}

// A Writer writes frames.
type Writer struct {
	box

	w      io.Writer
	number uint64
	now    func() time.Time
}

// NewWriter returns a writer of the frames of a run. Each frame is one call of w.Write.
func NewWriter(w io.Writer, key []byte, runID string) (*Writer, error) {
	b, err := newBox(key, runID)

	return &Writer{box: b, w: w, now: time.Now}, err
}

// Write a frame, whose number and time are set here. Tasks that make it too long are left out: only
// metrics and the log of the provider have them.
func (w *Writer) Write(f Frame) error {
	w.number++
	f.Number, f.Time = w.number, w.now().UTC()

	text, err := json.Marshal(f) //nolint:musttag // The same program reads it.
	if err != nil {
		return errors.Wrap(err, "cannot encode a report")
	}

	if len(text) > MaxFrame && len(f.Tasks) > 0 {
		w.number--
		f.Tasks = nil

		return w.Write(f)
	}

	if len(text) > MaxFrame {
		return errors.Errorf("a report of %d bytes is too long", len(text))
	}

	packed := &bytes.Buffer{}

	z, err := flate.NewWriter(packed, flate.BestSpeed)
	if err != nil {
		return errors.Wrap(err, "cannot compress a report")
	}

	_, _ = z.Write(text) // A buffer takes everything.
	_ = z.Close()

	box := w.aead.Seal(nil, nil, packed.Bytes(), w.run) //nolint:gosec // It makes a random nonce itself.
	line := append(base64.StdEncoding.AppendEncode([]byte(prefix), box), '\n')

	_, err = w.w.Write(line)

	return errors.Wrap(err, "cannot write a report")
}

// MayBeFrame is false for a line that does not begin as a frame does.
func MayBeFrame(line []byte) bool { return bytes.HasPrefix(line, []byte(prefix)) }

// A Reader recognizes frames among the lines of a log.
type Reader struct {
	box

	number uint64
}

// NewReader returns a reader of the frames of a run.
func NewReader(key []byte, runID string) (*Reader, error) {
	b, err := newBox(key, runID)

	return &Reader{box: b}, err
}

// Read a line. It is false for one that is no frame of this run, and for one that was
// read before: a log may be read twice, and content may write what it has found there.
func (r *Reader) Read(line []byte) (Frame, bool) {
	coded, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte(prefix))
	if !ok || len(coded) > MaxLine {
		return Frame{}, false
	}

	sealed, err := base64.StdEncoding.AppendDecode(nil, coded)
	if err != nil {
		return Frame{}, false
	}

	packed, err := r.aead.Open(sealed[:0], nil, sealed, r.run)
	if err != nil {
		return Frame{}, false
	}

	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxFrame+1))
	if err != nil || len(text) > MaxFrame {
		return Frame{}, false
	}

	f := Frame{}
	if json.Unmarshal(text, &f) != nil || f.Number <= r.number { //nolint:musttag // The same program has written it.
		return Frame{}, false
	}

	r.number = f.Number

	return f, true
}
