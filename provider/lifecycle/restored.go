package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Own drops what an observation has of the runs of another object: its status came along in a restore.
func Own(o *common.AnsibleRunObservation, uid types.UID) {
	if o.UID != "" && o.UID != uid {
		*o = common.AnsibleRunObservation{}
	}
}

// Adopts is true when the first apply of an object is to be recorded, and not run. An object that requires approvals is
// not adopted: a check says whether its target is as its spec says.
func Adopts(s Situation) bool {
	return s.Adopt && !s.Approvals.Required && !s.Deleted && !s.Runs() && s.Recorded.AppliedDigest == "" &&
		!s.Recorded.Executed
}

// Adopt records an apply that was not run: the target is as the inputs say. It answers a request, too, which may have
// come along in the restore.
func Adopt(o *common.AnsibleRunObservation, digest, request, id string, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	o.AppliedDigest, o.HandledRequest = digest, request
	o.LastApply = &common.Apply{
		ID: id, State: common.StatePresent, InputsDigest: digest, Result: common.PhaseSucceeded, CompletionTime: &at,
	}
}
