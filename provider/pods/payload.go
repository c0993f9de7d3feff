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
	// maxPart is how much of a payload one Secret has, in bytes. The API server takes a
	// mebibyte, base64 and the rest of the object included.
	maxPart = 700 << 10
	// maxSecrets is how many Secrets a run has at most, with that of its token. Inputs have a few mebibytes.
	maxSecrets = 20
	// filePod has the UID of the Pod, beside the parts of its payload, and filePodUID that of the Pod that they are for.
	filePod    = "pod"
	filePodUID = "podUID"
	// annotationProof tells the Secret that the provider has made from any other Secret of the namespace. It says for
	// which account a token is renewed.
	annotationProof = "ansible.crossplane.io/proof"
)

// A Payload is what the Pod of a run is given, in Secrets that only the Pod mounts. The first of them is the gate: it
// comes last, once, and names the Pod by its UID. A provider that follows a run that another one has begun learns from
// it what the run was begun with.
type Payload struct {
	// Spec of the run.
	Spec runner.Spec
	// Request that the run answers.
	Request string
	// Before is the run that was shown before this one; nil if there was none.
	Before *common.Run
	// Key that seals the reports of the run.
	Key []byte
	// ContentKey is the key of the digests of content.
	ContentKey []byte
	// Cluster is where the run finds the API server, if it is to reach it.
	Cluster kubeapi.Endpoint
	// Pod is the UID of the Pod, which reads it beside its payload.
	Pod string `json:"-"`
}

// pack the payload.
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

// unpack a payload.
func unpack(packed []byte) (p Payload, err error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(z).Decode(&p) //nolint:musttag // The same program has written it.
	}

	return p, errors.Wrap(err, "cannot read the inputs of the run")
}

// ReadPayload from the directory where its Secrets are mounted.
func ReadPayload(dir fs.FS) (Payload, error) {
	names, _ := fs.Glob(dir, "payload.*") // Only a pattern that is none is an error.

	var packed []byte

	for _, name := range names { // In order.
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

	// Another Pod may have had the same name before, and this one be made by a request that came late.
	if uid, err := fs.ReadFile(dir, filePodUID); err != nil || !bytes.Equal(uid, pod) {
		return Payload{}, errors.New("the inputs of the run are for another Pod")
	}

	p.Pod = string(pod)

	return p, nil
}

// partName is the key in a Secret of the part of a payload with a number, from 0.
func partName(n int) string { return fmt.Sprintf("payload.%03d", n) }

// secretName is the name of the Secret of a Pod with a number, from 0. The last one has the token, if there is one.
func secretName(pod string, n int) string {
	if n == 0 {
		return pod
	}

	return fmt.Sprintf("%s-%03d", pod, n)
}

// secretsOf a Pod are so many. Others may have changed the number.
func secretsOf(p *corev1.Pod) int {
	n, _ := strconv.Atoi(p.Annotations[annotationSecrets])

	return min(n, maxSecrets)
}

// newSecret of a run with a number, for the Pod that owns it. It does not block the deletion of the Pod: where the
// admission plugin OwnerReferencesPermissionEnforcement is on, as in OpenShift, that takes a right to its finalizers.
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

// secrets with a packed payload, for the Pod that is to have it. The first is the gate.
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

// proof that the provider has given a packed payload to a Pod.
func (x *Backend) proof(todo runs.Run, p *corev1.Pod, packed []byte) string {
	hash := sha256.Sum256(packed)
	about := []string{p.Namespace, todo.ID, string(todo.Object.UID), string(p.UID)}
	given := append(hash[:], strings.Join(about, "\x00")...)

	return hex.EncodeToString(mac.Sum(x.config.Key, "payload of a run", given))
}

// payloadOf a Pod is what the provider has given to it for a run; nil if that is nothing. A Secret from elsewhere has
// no proof, and is not unpacked.
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
