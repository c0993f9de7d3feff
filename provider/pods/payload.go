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
	"io"
	"io/fs"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const (
	// maxPart is how much of a payload one Secret has, in bytes. The API server takes a
	// mebibyte, base64 and the rest of the object included.
	maxPart = 700 << 10
	// maxPayload is the length of the longest payload, in bytes of JSON.
	maxPayload = 64 << 20
)

// A Payload is what the Pod of a run is given, in Secrets that only the Pod mounts. The first of them is the gate: it
// comes last, once, and names the Pod by its UID. A provider that follows a run that another one has begun learns from
// it what the run was begun with.
type Payload struct {
	// Spec of the run.
	Spec runner.Spec
	// Request that the run answers.
	Request string
	// Before is what was known of the object when the run was decided on.
	Before runs.Before
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

	if err := json.NewEncoder(z).Encode(p); err != nil { //nolint:musttag // The same program reads it.
		return nil, errors.Wrap(err, "cannot encode the inputs of a run")
	}

	if err := z.Close(); err != nil {
		return nil, errors.Wrap(err, "cannot compress the inputs of a run")
	}

	return packed.Bytes(), nil
}

const (
	// filePod has the UID of the Pod, beside the parts of its payload, and fileMeant the UID of the Pod that they are for.
	filePod   = "pod"
	fileMeant = "podUID"
	// maxSecrets is how many Secrets a run has at most, with that of its token.
	maxSecrets = maxPayload/maxPart + 2
	// annotationProof tells the Secret that the provider has made from any other Secret of the namespace. It says for
	// which account a token is renewed.
	annotationProof = "ansible.crossplane.io/proof"
)

// partName is the key in a Secret of the part of a payload with a number, from 0.
func partName(n int) string { return fmt.Sprintf("payload.%03d", n) }

// ReadPayload from the directory where its Secrets are mounted.
func ReadPayload(dir fs.FS) (Payload, error) {
	names, err := fs.Glob(dir, "payload.*")
	if err != nil {
		return Payload{}, errors.Wrap(err, "cannot list the inputs of the run")
	}

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
	if meant, err := fs.ReadFile(dir, fileMeant); err != nil || !bytes.Equal(meant, pod) {
		return Payload{}, errors.New("the inputs of the run are for another Pod")
	}

	p.Pod = string(pod)

	return p, nil
}

// unpack a payload.
func unpack(packed []byte) (Payload, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Payload{}, errors.Wrap(err, "cannot read the inputs of the run")
	}

	p := Payload{}
	err = json.NewDecoder(io.LimitReader(z, maxPayload)).Decode(&p) //nolint:musttag // The same program has written it.

	return p, errors.Wrap(err, "cannot decode the inputs of the run")
}

// secrets with the payload, for a Pod that is still to be made. The first is the gate.
func (p Payload) secrets(j executor.Job) ([]*corev1.Secret, error) {
	packed, err := p.pack()
	if err != nil {
		return nil, err
	}

	ref := j.Reference()

	var all []*corev1.Secret

	for part := range slices.Chunk(packed, maxPart) {
		n := len(all)

		all = append(all, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: secretName(*ref, n), Labels: labelsOf(j)},
			Type:       "ansible.crossplane.io/run",
			Immutable:  new(true),
			Data:       map[string][]byte{partName(n): part},
		})
	}

	return all, nil
}

// secretName is the name of the Secret of a run with a number, from 0. The last one has the token, if there is one.
func secretName(ref common.PodReference, n int) string {
	if n == 0 {
		return ref.Name
	}

	return fmt.Sprintf("%s-%03d", ref.Name, n)
}

// assign Secrets with a payload to the Pod that owns them.
func (x *Executor) assign(secrets []*corev1.Secret, j executor.Job, p *corev1.Pod) {
	h := sha256.New()

	for n, s := range secrets {
		s.OwnerReferences = []metav1.OwnerReference{ownedBy(p)}
		h.Write(s.Data[partName(n)])
	}

	secrets[0].Data[fileMeant] = []byte(p.UID)
	secrets[0].Annotations = map[string]string{annotationProof: x.proof(j, p, h.Sum(nil))}
}

// ownedBy is a reference to a Pod. It does not block the deletion of the Pod: where the admission plugin
// OwnerReferencesPermissionEnforcement is on, as in OpenShift, that takes a right to its finalizers.
func ownedBy(p *corev1.Pod) metav1.OwnerReference {
	o := metav1.NewControllerRef(p, corev1.SchemeGroupVersion.WithKind("Pod"))
	o.BlockOwnerDeletion = nil

	return *o
}

// proof that the provider has given a payload with some hash to a Pod.
func (x *Executor) proof(j executor.Job, p *corev1.Pod, hash []byte) string {
	whose := strings.Join([]string{p.Namespace, j.ID, string(j.Object.UID), string(p.UID)}, "\x00")

	return hex.EncodeToString(mac.Sum(x.config.Key, "payload of a run", append(hash, whose...)))
}

// given is the payload that the provider has given to the Pod of a run; false if there is none. A Secret
// from elsewhere has no proof, and is not unpacked.
func (x *Executor) given(ctx context.Context, j executor.Job, p *corev1.Pod) (Payload, bool, error) {
	select {
	case x.unpacking <- struct{}{}:
	case <-ctx.Done():
		return Payload{}, false, errors.Wrap(ctx.Err(), "cannot read the inputs of the run")
	}

	defer func() { <-x.unpacking }()

	var (
		packed []byte
		proof  string
	)

	for n := 0; len(packed) <= maxPayload; n++ {
		s := &corev1.Secret{}

		err := x.config.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: secretName(*j.Reference(), n)}, s)
		if client.IgnoreNotFound(err) != nil {
			return Payload{}, false, errors.Wrap(err, "cannot read the inputs of the run")
		}

		part := s.Data[partName(n)]
		if len(part) == 0 {
			break
		}

		if n == 0 {
			proof = s.Annotations[annotationProof]
		}

		packed = append(packed, part...)
	}

	hash := sha256.Sum256(packed)
	if !hmac.Equal([]byte(proof), []byte(x.proof(j, p, hash[:]))) {
		return Payload{}, false, nil
	}

	payload, err := unpack(packed)

	return payload, err == nil && len(payload.Key) == sealed.KeySize, nil
}
