// Package sealed carries the reports of a run out of its Pod, through the log of the
// Pod, which others may read. A frame is a line of the log, encrypted and authenticated
// with a key that only the run and the provider have: other readers of the log learn
// nothing from it, and what content writes to the log is no frame. The backend of Pods reads
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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

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

// A Frame is what a run tells at one moment.
type Frame struct {
	// Number of the frame, from 1, which grows.
	Number uint64 `json:"number"`
	// Report of all that is known so far. Its digests are empty: the Pod has no key for them.
	Report runs.Report `json:"report"`
	// Final is true for the last frame.
	Final bool `json:"final,omitempty"`
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

// A Writer writes frames.
type Writer struct {
	box

	w      io.Writer
	number uint64
}

// NewWriter returns a writer of the frames of a run in a Pod. Each frame is one call of w.Write.
func NewWriter(w io.Writer, key []byte, runID, podUID string) (*Writer, error) {
	b, err := newBox(key, runID, podUID)

	return &Writer{box: b, w: w}, err
}

// Write a frame. Its number is set here.
func (w *Writer) Write(f Frame) error {
	w.number++
	f.Number = w.number

	text := &bytes.Buffer{}
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false) // Outputs are not to become longer.

	if err := enc.Encode(f); err != nil { //nolint:musttag // The same program reads it.
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

	_, err = w.w.Write(line)

	return errors.Wrap(err, "cannot write a report")
}

// tooLong is true for JSON that is none of a frame.
func tooLong(text []byte) bool {
	return len(text) > MaxFrame || commas(text) > maxCommas
}

func commas(text []byte) int { return bytes.Count(text, []byte(",")) }

// MayBeFrame is false for a line that does not begin as a frame does, and for one that is too short.
func MayBeFrame(line []byte) bool {
	return len(line) >= minLine && bytes.HasPrefix(line, []byte(prefix))
}

// A Reader recognizes frames among the lines of a log.
type Reader struct {
	box

	// Cost of the JSON that was read, in bytes: more than it has where it has many values. Frames
	// count that were refused.
	Cost int
	// Number of the last frame that was read.
	Number uint64
}

// NewReader returns a reader of the frames of a run in a Pod.
func NewReader(key []byte, runID, podUID string) (*Reader, error) {
	b, err := newBox(key, runID, podUID)

	return &Reader{box: b}, err
}

// Read a line. It is false for one that is no frame of this run in this Pod, and for one that was
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

	packed, err := r.aead.Open(sealed[:0], nil, sealed, r.from)
	if err != nil {
		return Frame{}, false
	}

	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxFrame+1))
	r.Cost += len(text) + commaCost*min(commas(text), maxCommas)

	if err != nil || tooLong(text) {
		return Frame{}, false
	}

	f := Frame{}
	if json.Unmarshal(text, &f) != nil || f.Number <= r.Number { //nolint:musttag // The same program has written it.
		return Frame{}, false
	}

	r.Number = f.Number

	return f, true
}
