package pods

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// takes a frame that was read, as a run does that follows its log.
func takes(r *run, f sealed.Frame) bool {
	f, ok := checked(f)

	return ok && r.take(f)
}

// TestAttackReport has the image of a Pod, which may be an attacker's, report what no run reports.
func TestAttackReport(t *testing.T) {
	report := func(phase common.RunPhase, change ...func(*runs.Report)) runs.Report {
		r := runs.Report{Run: common.Run{ID: "forged", Phase: phase, CompletionTime: new(metav1.NewTime(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))}}
		for _, fn := range change {
			fn(&r)
		}

		return r
	}

	for name, tc := range map[string]struct {
		reason string
		frame  sealed.Frame
		ended  bool
		phase  common.RunPhase
	}{
		"Succeeded":     {"A last report ends the run.", sealed.Frame{Final: true, Report: report(common.PhaseSucceeded)}, true, common.PhaseSucceeded},
		"NoPhase":       {"A phase that the API server would refuse in the status is not taken over.", sealed.Frame{Report: report("Hacked")}, false, common.PhaseQueued},
		"Unfinished":    {"A run that goes on has no last report: the pool would never forget it.", sealed.Frame{Final: true, Report: report(common.PhaseRunning)}, false, common.PhaseQueued},
		"Interrupted":   {"That a run was interrupted is for the cluster to say.", sealed.Frame{Final: true, Report: report(common.PhaseInterrupted)}, false, common.PhaseQueued},
		"StillAttached": {"A run cannot keep its report out of the status.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *runs.Report) { r.Attaching = true })}, true, common.PhaseFailed},
		"OwnCondition": {"A run reports no condition of Crossplane.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *runs.Report) {
			r.Reported = events.Report{Conditions: []xpv2.Condition{xpv2.Available()}}
		})}, true, common.PhaseFailed},
		"Dependents": {"A run that does not reach the API server has made nothing there.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *runs.Report) {
			r.Dependents = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "secrets"}}
		})}, true, common.PhaseFailed},
		"DependentPath": {"What others are to watch is the name of a kind, and not a path.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *runs.Report) {
			r.Dependents = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "../secrets"}}
		})}, false, common.PhaseQueued},
		"KindPath": {"Nor is what a run says that has not ended.", sealed.Frame{Report: report(common.PhaseRunning, func(r *runs.Report) {
			r.Kinds = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "../secrets"}}
		})}, false, common.PhaseQueued},
		"Kinds": {"A run that goes on has made nothing there, either.", sealed.Frame{Report: report(common.PhaseRunning, func(r *runs.Report) {
			r.Kinds = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "secrets"}}
		})}, false, common.PhaseRunning},
		"DependentMany": {"As many are watched as of a run in the provider.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *runs.Report) {
			r.Dependents = slices.Repeat([]common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "secrets"}}, 101)
		})}, false, common.PhaseQueued},
	} {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t)

			if ended := takes(r, tc.frame); ended != tc.ended {
				t.Errorf("%s\ntake(...): want %t, got %t", tc.reason, tc.ended, ended)
			}

			got := r.report
			if got.Run.Phase != tc.phase || got.Attaching || len(got.Reported.Conditions)+len(got.Dependents)+len(got.Kinds) > 0 || got.Run.ID != r.todo.ID {
				t.Errorf("%s\ntake(...): got %+v", tc.reason, got)
			}

			if at := got.Run.CompletionTime; tc.ended && !at.Time.Equal(r.now()) {
				t.Errorf("A run does not end in the future: %s", at)
			}
		})
	}
}

// TestTemplate merges templates that contradict what the provider needs.
func TestTemplate(t *testing.T) {
	want := onCluster(t)
	plain := templateOf(t, want, Own{})
	secrets := func(names ...string) (all []corev1.LocalObjectReference) {
		for _, n := range names {
			all = append(all, corev1.LocalObjectReference{Name: n})
		}

		return all
	}
	both := common.Execution{ImagePullSecrets: secrets("both")}

	if dir := plain.Spec.Containers[0].WorkingDir; dir != dirWork {
		t.Errorf("The run should begin in a directory that the user of any image may enter, not in %q", dir)
	}

	for name, tc := range map[string]struct {
		reason    string
		execution common.Execution
		own       Own
		all       string
		template  string
		change    func(p *corev1.PodTemplateSpec)
	}{
		"Nothing": {reason: "An empty template changes nothing.", template: `{}`, change: func(*corev1.PodTemplateSpec) {}},
		"Command": {
			reason:   "A template replaces neither the program of the run nor its arguments.",
			template: `{"spec":{"restartPolicy":"Always","automountServiceAccountToken":true,"containers":[{"name":"run","image":"x","workingDir":"/x","command":["sh"],"args":["-c"],"env":[{"name":"HOME","value":"/x"}]}]}}`,
			change:   func(*corev1.PodTemplateSpec) {},
		},
		"Restarts": {
			reason:   "A run that has failed does not run again.",
			template: `{"spec":{"containers":[{"name":"run","restartPolicy":"OnFailure","restartPolicyRules":[{"action":"Restart"}]}]}}`,
			change:   func(*corev1.PodTemplateSpec) {},
		},
		"Payload": {
			reason:   "A template gives a run neither other inputs nor another place for them.",
			template: `{"spec":{"serviceAccountName":"","volumes":[{"name":"ansible-run","projected":{"sources":[{"secret":{"name":"other"}}]}}],"containers":[{"name":"run","volumeMounts":[{"name":"other","mountPath":"/var/run/secrets/ansible.crossplane.io/run"}]}]}}`,
			change:   func(*corev1.PodTemplateSpec) {},
		},
		"Labels": {
			reason:    "Nor do labels pretend that a Pod is of another run.",
			execution: common.Execution{Labels: map[string]string{labelRun: "another", "a": "b"}},
			template:  `{"metadata":{"labels":{"ansible.crossplane.io/uid":"another"}}}`,
			change:    func(p *corev1.PodTemplateSpec) { p.Labels["a"] = "b" },
		},
		"Directives": {
			reason: "Nor do keys remove what the provider sets, or what a template does. The API server refuses them.",
			execution: common.Execution{
				Labels: map[string]string{"$patch": "delete"}, Annotations: map[string]string{"$patch": "delete"}, NodeSelector: map[string]string{"$patch": "delete"},
			},
			all: `{"metadata":{"labels":{"a":"all"}},"spec":{"nodeSelector":{"a":"all"}}}`,
			change: func(p *corev1.PodTemplateSpec) {
				p.Labels["a"], p.Labels["$patch"], p.Annotations["$patch"] = "all", "delete", "delete"
				p.Spec.NodeSelector = map[string]string{"a": "all", "$patch": "delete"}
			},
		},
		"Volume": {
			reason:   "A template may bound the provider's volumes.",
			template: `{"spec":{"volumes":[{"name":"ansible","emptyDir":{"sizeLimit":"1Gi"}}]}}`,
			change: func(p *corev1.PodTemplateSpec) {
				p.Spec.Volumes[0].EmptyDir.SizeLimit = new(quantity("1Gi"))
			},
		},
		"All": {
			reason:   "The template of all Pods is below that of a configuration, and all that the provider sets.",
			all:      `{"metadata":{"labels":{"a":"all","b":"all"}},"spec":{"runtimeClassName":"all","priorityClassName":"all","containers":[{"name":"run","args":["-c"],"env":[{"name":"A","value":"all"},{"name":"B","value":"all"}]}]}}`,
			template: `{"metadata":{"labels":{"b":"one"}},"spec":{"priorityClassName":"one","containers":[{"name":"run","env":[{"name":"B","value":"one"}]}]}}`,
			change: func(p *corev1.PodTemplateSpec) {
				p.Labels["a"], p.Labels["b"] = "all", "one"
				p.Spec.RuntimeClassName, p.Spec.PriorityClassName = new("all"), "one"
				p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "A", Value: "all"}, corev1.EnvVar{Name: "B", Value: "one"})
			},
		},
		"Mounts": {
			reason: "Content may use what is mounted for it: not what the provider has for itself, nor a service account.",
			all: `{"spec":{"containers":[{"name":"run","volumeMounts":[{"name":"a","mountPath":"/tmp/data"},{"name":"b","mountPath":"/etc/corp","readOnly":true},` +
				`{"name":"c","mountPath":"/ansible/home"},{"name":"d","mountPath":"/var/run"},{"name":"e","mountPath":"/run/secrets/token"},{"name":"f","mountPath":"/ansible2/"}]}]}}`,
			change: func(p *corev1.PodTemplateSpec) {
				c := &p.Spec.Containers[0]
				c.Args = append(c.Args, "--write-path=/tmp/data", "--read-path=/etc/corp", "--write-path=/ansible2/")
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "a", MountPath: "/tmp/data"}, corev1.VolumeMount{Name: "b", MountPath: "/etc/corp", ReadOnly: true},
					corev1.VolumeMount{Name: "c", MountPath: "/ansible/home"}, corev1.VolumeMount{Name: "d", MountPath: "/var/run"},
					corev1.VolumeMount{Name: "e", MountPath: "/run/secrets/token"}, corev1.VolumeMount{Name: "f", MountPath: "/ansible2/"})
			},
		},
		"PullSecrets": {
			reason:    "Pods in the provider's namespace pull its image as the provider does.",
			execution: both, own: Own{Namespace: "ns", PullSecrets: secrets("both", "provider")},
			change: func(p *corev1.PodTemplateSpec) { p.Spec.ImagePullSecrets = secrets("both", "provider") },
		},
		"PullSecretsElsewhere": {
			reason:    "In other namespaces there are no such Secrets.",
			execution: both, own: Own{Namespace: "system", PullSecrets: secrets("provider")},
			change: func(p *corev1.PodTemplateSpec) { p.Spec.ImagePullSecrets = secrets("both") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := plain.DeepCopy()
			tc.change(want)

			r := onCluster(t)
			e := &r.todo.Inputs.Execution
			e.Labels, e.Annotations, e.NodeSelector = tc.execution.Labels, tc.execution.Annotations, tc.execution.NodeSelector
			e.ImagePullSecrets = tc.execution.ImagePullSecrets

			if tc.all != "" {
				r.config.Template = []byte(tc.all)
			}

			if tc.template != "" {
				e.PodTemplate = raw(tc.template)
			}

			if diff := cmp.Diff(*want, templateOf(t, r, tc.own)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func quantity(s string) resource.Quantity {
	q := resource.MustParse(s)

	return q
}

func raw(s string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(s)} }

// TestAttackStatus has an image report what no status, Secret or metric can hold, or what takes much
// room there. The API server would refuse it again and again.
func TestAttackStatus(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	conditions := func(all ...xpv2.Condition) func(*runs.Report) {
		return func(r *runs.Report) { r.Reported.Conditions = all }
	}
	up := xpv2.Condition{Type: "Up", Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(1767319445, 0))}
	with := func(change func(*xpv2.Condition)) xpv2.Condition {
		c := up
		change(&c)

		return c
	}
	early := metav1.NewTime(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))

	for name, tc := range map[string]struct {
		reason string
		change func(*runs.Report)
		want   bool
	}{
		"Nothing":       {"A report may have nothing.", func(*runs.Report) {}, true},
		"Condition":     {"A run reports conditions.", conditions(up), true},
		"NoStatus":      {"A condition has one of three statuses.", conditions(with(func(c *xpv2.Condition) { c.Status = "Maybe" })), false},
		"NoTime":        {"A condition has a time.", conditions(with(func(c *xpv2.Condition) { c.LastTransitionTime = metav1.Time{} })), false},
		"LongCondition": {"The message of a condition is bounded.", conditions(with(func(c *xpv2.Condition) { c.Message = long })), false},
		"Twice":         {"A condition is there once.", conditions(up, up), false},
		"Outputs":       {"A run has outputs.", func(r *runs.Report) { r.Outputs = raw(`{"a":{"b":1.5}}`) }, true},
		"NoObject":      {"Outputs are an object.", func(r *runs.Report) { r.Outputs = raw(`[]`) }, false},
		"LongOutputs":   {"Outputs are bounded.", func(r *runs.Report) { r.Outputs = raw(`{"a":"` + long + `"}`) }, false},
		"LongReported": {"So are outputs that are reported.", func(r *runs.Report) {
			r.Reported.Outputs = map[string]json.RawMessage{"a": json.RawMessage(`"` + long + `"`)}
		}, false},
		"Number":      {"No number in outputs is larger than the API server keeps it.", func(r *runs.Report) { r.Outputs = raw(`{"a":1e999}`) }, false},
		"Details":     {"A run has connection details.", func(r *runs.Report) { r.ConnectionDetails = map[string][]byte{"a.b": []byte("x")} }, true},
		"NoKey":       {"Their names are keys of a Secret.", func(r *runs.Report) { r.ConnectionDetails = map[string][]byte{"a/b": nil} }, false},
		"LongDetails": {"They fit into a Secret.", func(r *runs.Report) { r.ConnectionDetails = map[string][]byte{"a": []byte(long + "x")} }, false},
		"Items": {"So many collections are installed nowhere.", func(r *runs.Report) {
			r.Content = &common.Content{Collections: make([]common.ContentItem, 100_000)}
		}, false},
		"LongItem": {"Content goes to the status, which is bounded.", func(r *runs.Report) { r.Content = &common.Content{Roles: []common.ContentItem{{Source: long}}} }, false},
		"Year":     {"Times are those of a run.", func(r *runs.Report) { r.Content = &common.Content{Resolved: &early} }, false},
		"Texts":    {"Texts are cut.", func(r *runs.Report) { r.Run.Message, r.Output = long, long }, true},
		"LongTask": {"No task has so long a name.", func(r *runs.Report) { r.Run.CurrentTask = long }, false},
		"Failures": {"So many failures are not listed.", func(r *runs.Report) { r.Run.Failures = make([]common.Failure, 1000) }, false},
		"LongFailure": {"The message of a failure is bounded.", func(r *runs.Report) {
			r.Run.Failures = []common.Failure{{Message: long[:maxRun]}}
		}, false},
		"Changed":   {"So many tasks are not listed.", func(r *runs.Report) { r.Changed = make([]common.DriftTask, 1000) }, false},
		"LongDiff":  {"A diff is bounded.", func(r *runs.Report) { r.Changed = []common.DriftTask{{Diff: long}} }, false},
		"NotBefore": {"A run does not put off the next one.", func(r *runs.Report) { r.NotBefore = time.Unix(1<<36, 0) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t)
			f := sealed.Frame{Final: true, Report: runs.Report{Run: common.Run{Phase: common.PhaseFailed}}}
			tc.change(&f.Report)

			if got := takes(r, f); got != tc.want {
				t.Errorf("%s\ntake(...): want %t, got %t", tc.reason, tc.want, got)
			}

			r.report.ConnectionDetails = nil

			text, err := json.Marshal(r.report) //nolint:musttag // Its length counts.
			if err != nil || len(text) > 200<<10 || len(r.report.Changed) > events.MaxChanged || len(r.report.Run.Failures) > events.MaxFailures || !r.report.NotBefore.IsZero() {
				t.Errorf("%s\nThe status would get %d bytes, %v, %v", tc.reason, len(text), r.report.NotBefore, err)
			}
		})
	}
}
