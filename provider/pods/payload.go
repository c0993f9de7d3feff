package pods

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

const (
	// maxPart is the size of the part of a payload in one Secret, in bytes. The API server accepts 1 MiB, including base64
	// and the rest of the object.
	maxPart = 700 << 10
	// maxSecrets is the largest number of Secrets of a run, including that of its token. Inputs have a few MiB at most.
	maxSecrets = 20
	// filePod has the UID of the Pod that mounts the payload, and filePodUID the UID of the Pod that the payload is for.
	filePod    = "pod"
	filePodUID = "podUID"
	// annotationProof proves that the provider has made the Secret. The payload is trusted: for example, it names the
	// ServiceAccount of tokens.
	annotationProof = "ansible.crossplane.io/proof"
)

// A Payload has the inputs of the Pod of a run. It is in Secrets that only the Pod mounts. The first Secret is the
// gate: it is created last, once, and has the UID of the Pod. A provider that follows a run of its predecessor reads
// the inputs of the run from the payload.
type Payload struct {
	// Spec of the run.
	Spec runner.Spec
	// Request that the run answers.
	Request string
	// Before is the run in the status before this one; nil if there was none.
	Before *common.Run
	// Key that seals the reports of the run.
	Key []byte
	// ContentKey is the key of the digests of content.
	ContentKey []byte
	// Cluster is the endpoint of the API server, for a run with access to it.
	Cluster kubeapi.Endpoint
	// Pod is the UID of the Pod. It is in a file beside the payload.
	Pod string `json:"-"`
}

// pack returns the payload as compressed JSON.
func (p Payload) pack() ([]byte, error) {
	packed := &bytes.Buffer{}
	z := gzip.NewWriter(packed)

	err := json.NewEncoder(z).Encode(p) //nolint:musttag // The same program reads it.
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, errors.Wrap(err, "cannot pack the inputs of a run")
	}

	if packed.Len() > (maxSecrets-1)*maxPart {
		return nil, errors.Errorf("the inputs of the run take %d bytes, more than the %d that a Pod gets", packed.Len(),
			(maxSecrets-1)*maxPart)
	}

	return packed.Bytes(), nil
}

// unpack returns the payload in compressed JSON.
func unpack(packed []byte) (p Payload, err error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(z).Decode(&p) //nolint:musttag // The same program has written it.
	}

	return p, errors.Wrap(err, "cannot read the inputs of the run")
}

// ReadPayload reads a payload from the directory where its Secrets are mounted. It returns an error for the payload of
// another Pod.
func ReadPayload(dir fs.FS) (Payload, error) {
	names, _ := fs.Glob(dir, "payload.*") // The pattern is valid.

	var packed []byte

	for _, name := range names { // The names are sorted.
		part, err := fs.ReadFile(dir, name)
		if err != nil {
			return Payload{}, errors.Wrap(err, "cannot read the inputs of the run")
		}

		packed = append(packed, part...)
	}

	p, err := unpack(packed)
	if err != nil {
		return Payload{}, err
	}

	pod, err := fs.ReadFile(dir, filePod)
	if err != nil {
		return Payload{}, errors.Wrap(err, "cannot read the UID of the Pod")
	}

	// An earlier Pod may have had the same name, if a delayed request has created this one.
	if uid, err := fs.ReadFile(dir, filePodUID); err != nil || !bytes.Equal(uid, pod) {
		return Payload{}, errors.New("the inputs of the run are for another Pod")
	}

	p.Pod = string(pod)

	return p, nil
}

// partName returns the key in a Secret of part n of a payload, from 0.
func partName(n int) string { return fmt.Sprintf("payload.%03d", n) }

// secretName returns the name of Secret n of a Pod, from 0. The last Secret has the token, if any.
func secretName(pod string, n int) string {
	if n == 0 {
		return pod
	}

	return fmt.Sprintf("%s-%03d", pod, n)
}

// secretsOf returns the number of Secrets of a Pod. Other clients may have changed the annotation.
func secretsOf(p *corev1.Pod) int {
	n, _ := strconv.Atoi(p.Annotations[annotationSecrets])

	return min(n, maxSecrets)
}

// newSecret returns Secret n of a run. The Pod owns it. blockOwnerDeletion is not set: with the admission plugin
// OwnerReferencesPermissionEnforcement, as in OpenShift, this would need a right to the finalizers of the Pod.
func newSecret(todo runs.Run, p *corev1.Pod, n int, data map[string][]byte) *corev1.Secret {
	owner := metav1.NewControllerRef(p, corev1.SchemeGroupVersion.WithKind("Pod"))
	owner.BlockOwnerDeletion = nil

	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: secretName(p.Name, n), Labels: labelsOf(todo),
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Type: "ansible.crossplane.io/run",
		Data: data,
	}
}

// secrets returns the Secrets with a packed payload for a Pod. The first is the gate.
func (x *Backend) secrets(todo runs.Run, p *corev1.Pod, packed []byte) []*corev1.Secret {
	var all []*corev1.Secret

	for part := range slices.Chunk(packed, maxPart) {
		s := newSecret(todo, p, len(all), map[string][]byte{partName(len(all)): part})
		s.Immutable = new(true)
		all = append(all, s)
	}

	all[0].Data[filePodUID] = []byte(p.UID)
	all[0].Annotations = map[string]string{annotationProof: x.proof(todo, p, packed)}

	return all
}

// proof returns the value of annotationProof for a packed payload and a Pod.
func (x *Backend) proof(todo runs.Run, p *corev1.Pod, packed []byte) string {
	hash := sha256.Sum256(packed)
	about := []string{p.Namespace, todo.ID, string(todo.Object.UID), string(p.UID)}
	given := append(hash[:], strings.Join(about, "\x00")...)

	return hex.EncodeToString(mac.Sum(x.config.Key, "payload of a run", given))
}

// payloadOf returns the payload that the provider has given to a Pod for a run; nil if there is none. Secrets without a
// valid proof are not unpacked.
func (x *Backend) payloadOf(ctx context.Context, todo runs.Run, p *corev1.Pod) (*Payload, error) {
	var (
		packed []byte
		proof  string
	)

	for n := range secretsOf(p) {
		s := &corev1.Secret{}

		err := x.config.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: secretName(p.Name, n)}, s)
		if client.IgnoreNotFound(err) != nil {
			return nil, errors.Wrap(err, "cannot read the inputs of the run")
		}

		packed = append(packed, s.Data[partName(n)]...)

		if n == 0 {
			proof = s.Annotations[annotationProof]
		}
	}

	if !hmac.Equal([]byte(proof), []byte(x.proof(todo, p, packed))) {
		return nil, nil
	}

	payload, err := unpack(packed)

	return &payload, err
}
