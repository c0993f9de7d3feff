package pods

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// annotationProof tells what the provider has made from what others have, who may write Jobs and
// Secrets in a namespace, or the status of an AnsibleRun, which says where its Job is.
const annotationProof = "ansible.crossplane.io/proof"

// proof that the provider has made something of these parts.
func (x *Executor) proof(parts ...[]byte) string {
	h := hmac.New(sha256.New, x.config.Key)
	h.Write([]byte("made by the provider"))

	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + " "))
		h.Write(p)
	}

	return hex.EncodeToString(h.Sum(nil))
}

// jobProof is the proof of a Job: it belongs to the run that its labels and annotations name.
func (x *Executor) jobProof(j *batchv1.Job) string {
	parts := [][]byte{[]byte("job"), []byte(j.Namespace), []byte(j.Name), []byte(j.Labels[labelRun]), []byte(j.Labels[labelObject])}
	for _, name := range []string{annotationKind, annotationNamespace, annotationName} {
		parts = append(parts, []byte(j.Annotations[name]))
	}

	return x.proof(parts...)
}

// made is true for a Job that the provider has made.
func (x *Executor) made(j *batchv1.Job) bool {
	return hmac.Equal([]byte(j.Annotations[annotationProof]), []byte(x.jobProof(j)))
}

// payloadProof is the proof of the payload of a run: it belongs to the object, too.
func (r *run) payloadProof(parts map[string][]byte) string {
	all := [][]byte{[]byte("payload"), []byte(r.ref.Namespace), []byte(r.job.ID), []byte(r.job.Object.UID)}
	for n := range len(parts) {
		all = append(all, parts[partName(n)])
	}

	return r.proof(all...)
}

// owns is true for a Job that the provider has made for this run of this object.
func (r *run) owns(j *batchv1.Job) bool {
	return r.made(j) && j.Labels[labelRun] == r.job.ID && j.Labels[labelObject] == string(r.job.Object.UID)
}

// ownsPod is true for a Pod of the Job. Of one whose Job is gone there are only the labels.
func (r *run) ownsPod(p *corev1.Pod, j *batchv1.Job) bool {
	if j != nil {
		return metav1.IsControlledBy(p, j)
	}

	return p.Labels[batchv1.JobNameLabel] == r.ref.Name && p.Labels[labelObject] == string(r.job.Object.UID)
}

// believable is true for a report that a run can have sent. What is in the Pod may be anybody's
// image, so that no report is to do more than tell of its own run.
func believable(phase common.RunPhase, final bool) bool {
	switch phase {
	case common.PhaseInstalling, common.PhaseRunning:
		return !final
	case common.PhaseSucceeded, common.PhaseFailed, common.PhaseTimedOut, common.PhaseCanceled:
		return true
	case common.PhaseQueued, common.PhaseInterrupted:
	}

	return false
}
