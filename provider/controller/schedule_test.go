package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

func uid(id string) func(*v1alpha1.AnsibleRun) {
	return func(r *v1alpha1.AnsibleRun) { r.SetUID(types.UID(id)) }
}

func TestInterval(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		asked  string
		want   time.Duration
	}{
		"Default":   {reason: "An object without an interval should have the default.", want: 10 * time.Minute},
		"Annotated": {reason: "An object may set an interval.", asked: "1h", want: time.Hour},
		"TooShort":  {reason: "The interval of an object has a minimum.", asked: "1s", want: 10 * time.Second},
		"Never":     {reason: "The longest interval should not overflow.", asked: "2562047h", want: longest},
		"Malformed": {reason: "An invalid duration should be ignored, as in crossplane-runtime.", asked: "often", want: 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSchedule(10*time.Minute, 10*time.Second)
			different := map[time.Duration]bool{}

			for i := range 100 {
				run := object(uid(fmt.Sprintf("uid-%d", i)))
				if tc.asked != "" {
					annotated(meta.AnnotationKeyPollInterval, tc.asked)(run)
				}

				got := p.interval(run)
				if off := got - tc.want; off.Abs() > tc.want/10 {
					t.Errorf("\n%s\ninterval(...): want %s or up to a tenth more or less, got %s", tc.reason, tc.want, got)
				}

				if again := p.interval(run); again != got {
					t.Errorf("The interval of an object should stay the same, got %s and %s", got, again)
				}

				different[got] = true
			}

			if len(different) < 90 {
				t.Errorf("Objects should be polled at different times, got %d intervals of 100 objects", len(different))
			}
		})
	}
}
