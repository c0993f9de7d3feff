package common

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// Times are points in time, in the syntax of a CronJob.
type Times struct {
	// Cron is a schedule in the syntax of cron: minute, hour, day of the month, month and day of the
	// week, such as "30 3 * * 1-5"; or @hourly, @daily, @weekly, @monthly or @yearly.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cron string `json:"cron"`

	// TimeZone of the schedule, as the time zone database names it, such as Europe/Berlin. The default is UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// A Window is a recurring period in which runs may begin.
type Window struct {
	Times `json:",inline"`

	// Duration for which the window stays open each time, such as 4h; a week at most.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="must be a duration of 1m to 168h, such as 4h"
	Duration metav1.Duration `json:"duration"`

	// Changes is Wait, the default, if changes, creations, retries and deletions wait for the window as periodic runs do,
	// and Immediate if only periodic runs wait.
	// +optional
	Changes ChangePolicy `json:"changes,omitempty"`
}

// A ChangePolicy says whether changes wait for a window.
// +kubebuilder:validation:Enum=Wait;Immediate
type ChangePolicy string

// Policies of changes.
const (
	// ChangesWait for the window.
	ChangesWait ChangePolicy = "Wait"
	// ChangesImmediate begin at once.
	ChangesImmediate ChangePolicy = "Immediate"
)

// ReasonWaitingForWindow means that a run waits until its window opens.
const ReasonWaitingForWindow xpv2.ConditionReason = "WaitingForWindow"

// WaitingForWindow indicates, in a condition of the given type, that a run waits until its window opens.
func WaitingForWindow(t xpv2.ConditionType, opens time.Time) xpv2.Condition {
	return condition(t, corev1.ConditionFalse, ReasonWaitingForWindow,
		"waits for its window, which opens at "+opens.UTC().Format(time.RFC3339)+"; a request of a run does not wait")
}
