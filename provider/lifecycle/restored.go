package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Own resets an observation of another object, which was copied with the status when the object was restored from a
// backup.
func Own(o *common.AnsibleRunObservation, uid types.UID) {
	if o.UID != "" && o.UID != uid {
		*o = common.AnsibleRunObservation{}
	}
}

// Adopts is true when the first apply of an object is recorded without a run. An object that requires approvals is not
// adopted: a check finds out whether its target is in the state of its spec.
func Adopts(s Situation) bool {
	return s.Adopt && !s.Approvals.Required && !s.Deleted && !s.Runs() && s.Recorded.AppliedDigest == "" &&
		!s.Recorded.Executed
}

// Adopt records an apply without a run: the target is in the state of the inputs. It also counts as the answer to a
// request, which may come from the backup.
func Adopt(o *common.AnsibleRunObservation, digest, request, id string, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	o.AppliedDigest, o.HandledRequest = digest, request
	o.LastApply = &common.Apply{
		ID: id, State: common.StatePresent, InputsDigest: digest, Result: common.PhaseSucceeded, CompletionTime: &at,
	}
}
