package events

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

var errOutOfRange = errors.New(
	"it has a number that is out of range: integers have 64 bits, others are doubles; publish it as a string")

// storable returns an error for an output that the API server would refuse in a status, or that has a number that the
// API server would round.
func storable(raw json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()

	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return errors.Wrap(err, "it is not JSON")
		}

		if n, ok := t.(json.Number); ok && !fits(n.String()) {
			return errOutOfRange
		}
	}

	// The API server limits the depth of nesting, so that the output is decoded at its place in an object.
	status := slices.Concat([]byte(`{"status":{"atProvider":{"outputs":{"":`), raw, []byte("}}}}"))
	if err := utiljson.Unmarshal(status, &map[string]any{}); err != nil {
		return errors.Wrap(err, "the API server cannot read it")
	}

	return nil
}

// CheckOutputs returns an error for outputs that a status cannot hold.
func CheckOutputs(raw json.RawMessage) error {
	if len(raw) > MaxOutputs {
		return errors.Errorf("%d bytes of outputs are more than %d", len(raw), MaxOutputs)
	}

	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return errors.Wrap(err, "outputs are not an object")
	}

	for name, value := range all {
		if err := storable(value); err != nil {
			return errors.Wrapf(err, "output %q cannot be kept", clip.Text(name, MaxName))
		}
	}

	return nil
}

// fits is true for a number that an int64 or a float64 can represent, as in the API server.
func fits(number string) bool {
	var err error
	if strings.ContainsAny(number, ".eE") {
		_, err = strconv.ParseFloat(number, 64)
	} else {
		_, err = strconv.ParseInt(number, 10, 64)
	}

	return err == nil
}

// isCut is true for a JSON value with a string that the driver has cut.
func isCut(raw json.RawMessage) bool {
	for _, s := range redact.Scalars(raw) {
		if utf8.RuneCountInString(s) >= maxString {
			return true
		}
	}

	return false
}
