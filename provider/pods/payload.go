package pods

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

const (
	// maxPart is how much of a payload one Secret has, in bytes. The API server takes a
	// mebibyte, base64 and the rest of the object included.
	maxPart = 700 << 10
	// maxPayload is the length of the longest payload, in bytes of JSON.
	maxPayload = 64 << 20
)

// A Payload is what the Pod of a run is given, in Secrets that only the Pod mounts. A provider
// that follows a run that another one has begun learns from it what the run was begun with.
type Payload struct {
	// Spec of the run.
	Spec runner.Spec
	// Request that the run answers.
	Request string
	// Before is what was known of the object when the run was submitted.
	Before executor.Before
	// Key that seals the reports of the run.
	Key []byte
	// ContentKey is the key of the digests of content.
	ContentKey []byte
	// Cluster is where the run finds the API server, if it is to reach it.
	Cluster kubeapi.Endpoint
	// Pod is the UID of the Pod, which reads it beside its payload.
	Pod string `json:"-"`
}

// parts of the payload, by their keys in Secrets.
func (p Payload) parts() (map[string][]byte, error) {
	packed := &bytes.Buffer{}
	z := gzip.NewWriter(packed)

	if err := json.NewEncoder(z).Encode(p); err != nil { //nolint:musttag // The same program reads it.
		return nil, errors.Wrap(err, "cannot encode the inputs of a run")
	}

	if err := z.Close(); err != nil {
		return nil, errors.Wrap(err, "cannot compress the inputs of a run")
	}

	parts := map[string][]byte{}
	for part := range slices.Chunk(packed.Bytes(), maxPart) {
		parts[partName(len(parts))] = part
	}

	return parts, nil
}

// filePod has the UID of the Pod, beside the parts of its payload.
const filePod = "pod"

// partName is the key in a Secret of the part of a payload with a number, from 0.
func partName(n int) string { return fmt.Sprintf("payload.%03d", n) }

// ReadPayload from the directory where its Secrets are mounted.
func ReadPayload(dir fs.FS) (Payload, error) {
	names, err := fs.Glob(dir, "payload.*")
	if err != nil {
		return Payload{}, errors.Wrap(err, "cannot list the inputs of the run")
	}

	parts := map[string][]byte{}

	for _, name := range names {
		if parts[name], err = fs.ReadFile(dir, name); err != nil {
			return Payload{}, errors.Wrap(err, "cannot read the inputs of the run")
		}
	}

	p, err := joinPayload(parts)
	if err != nil {
		return Payload{}, err
	}

	pod, err := fs.ReadFile(dir, filePod)
	p.Pod = string(pod)

	return p, errors.Wrap(err, "cannot read the UID of the Pod")
}

// joinPayload from its parts.
func joinPayload(parts map[string][]byte) (Payload, error) {
	var all []io.Reader
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, bytes.NewReader(parts[name]))
	}

	z, err := gzip.NewReader(io.MultiReader(all...))
	if err != nil {
		return Payload{}, errors.Wrap(err, "cannot read the inputs of the run")
	}

	p := Payload{}
	err = json.NewDecoder(io.LimitReader(z, maxPayload)).Decode(&p) //nolint:musttag // The same program has written it.

	return p, errors.Wrap(err, "cannot decode the inputs of the run")
}
