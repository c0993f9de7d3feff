package pods

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	parts := [][]byte{
		[]byte("job"), []byte(j.Namespace), []byte(j.Name), []byte(j.Labels[labelRun]),
		[]byte(j.Labels[labelObject]),
	}
	for _, name := range []string{annotationKind, annotationNamespace, annotationName} {
		parts = append(parts, []byte(j.Annotations[name]))
	}

	return x.proof(parts...)
}

// made is true for a Job that the provider has made.
func (x *Executor) made(j *batchv1.Job) bool {
	return hmac.Equal([]byte(j.Annotations[annotationProof]), []byte(x.jobProof(j)))
}

// payloadProof is the proof of the payload of a run: it belongs to the object and to the Job, too.
func (r *run) payloadProof(uid types.UID, parts map[string][]byte) string {
	all := [][]byte{[]byte("payload"), []byte(r.ref.Namespace), []byte(r.job.ID), []byte(r.job.Object.UID), []byte(uid)}
	for n := range len(parts) {
		all = append(all, parts[partName(n)])
	}

	return r.proof(all...)
}

// owns is true for the Job that the provider has made for this run of this object. Somebody may have
// copied its proof: where the UID is known, that counts.
func (r *run) owns(j *batchv1.Job) bool {
	if r.uid != "" {
		return j.UID == r.uid
	}

	return r.made(j) && r.names(j)
}

// names is true for a Job that claims to be that of the run.
func (r *run) names(j *batchv1.Job) bool {
	return j.Labels[labelRun] == r.job.ID && j.Labels[labelObject] == string(r.job.Object.UID)
}

// ownsPod is true for a Pod of the Job, and for the one that was let run, which the Job loses with its labels. Of one
// whose Job is gone there may be only the labels.
func (r *run) ownsPod(p *corev1.Pod, j *batchv1.Job) bool {
	if j != nil {
		return metav1.IsControlledBy(p, j) || r.meant != "" && p.UID == r.meant
	}

	if owner := metav1.GetControllerOf(p); owner != nil && r.uid != "" {
		return owner.UID == r.uid
	}

	return p.Labels[batchv1.JobNameLabel] == r.ref.Name && p.Labels[labelObject] == string(r.job.Object.UID)
}
