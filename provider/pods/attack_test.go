package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/semaphore"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const image = "provider:1"

// onCluster returns a run of the payload of fill on a cluster that has some objects.
func onCluster(t *testing.T, objects ...client.Object) *run {
	t.Helper()

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}

	x := &Executor{
		config: Config{
			Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
			Key:    []byte("key of the provider"), Log: logging.NewNopLogger(),
			Status: func(context.Context, ObjectReference) (State, error) { return StateGone, nil },
		},
		scopes:    &scopes{followers: map[runKey]chan struct{}{}},
		unpacking: make(chan struct{}, unpackers), asking: semaphore.NewWeighted(askers),
		now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	j := executor.Job{Spec: fill(t).Spec}

	return &run{Executor: x, job: j, ref: *j.Reference(), watch: executor.Watch{Provider: context.Background(), Progress: func(executor.Report) {}}, report: executor.NewReport(j), shown: &shown{}}
}

// jobOf returns the Job that the provider makes for a run.
func jobOf(t *testing.T, r *run, change ...func(*batchv1.Job)) *batchv1.Job {
	t.Helper()

	j, err := r.newJob(r.job, Own{Image: image}, []string{r.ref.Name})
	if err != nil {
		t.Fatal(err)
	}

	j.UID = "job"
	for _, fn := range change {
		fn(j)
	}

	return j
}

func podOf(j *batchv1.Job, name string, age time.Duration) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: name, Labels: maps.Clone(j.Labels), CreationTimestamp: metav1.NewTime(time.Now().Add(-age))}}
	p.Labels[batchv1.JobNameLabel] = j.Name
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}

	return p
}

// TestAttackCache has others put much into the metadata of Jobs and Pods that look like those of runs: a hundred Pods of
// a quota can have a hundred thousand labels each. The cache keeps nothing of that.
func TestAttackCache(t *testing.T) {
	r := onCluster(t)
	job := jobOf(t, r, failed("BackoffLimitExceeded"), suspended)
	pod := gatedPod(job, "p")
	pod.Status.Message = "as it is"
	job.Spec, pod.Annotations = batchv1.JobSpec{Suspend: job.Spec.Suspend}, nil
	job.OwnerReferences = []metav1.OwnerReference{{UID: "another", Controller: new(true)}}
	pod.OwnerReferences = []metav1.OwnerReference{{UID: job.UID, Controller: new(true)}}

	delete(job.Labels, "app.kubernetes.io/managed-by")
	delete(pod.Labels, "app.kubernetes.io/managed-by")

	for _, o := range []client.Object{job, pod} {
		was, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatal("It is an object.")
		}

		o.GetLabels()["a"] = "b"
		o.SetAnnotations(merged(o.GetAnnotations(), map[string]string{"a": "b"}))
		o.SetFinalizers([]string{"example.org/a"})
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "a"}})
		o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{UID: "b", Name: "b"}))
		o.GetOwnerReferences()[0].Name = "long"

		switch o := o.(type) {
		case *batchv1.Job:
			o.Status.CompletedIndexes, o.Spec.Template.Labels = "0-100", map[string]string{"a": "b"}
		case *corev1.Pod:
			o.Spec.SchedulingGates = append(o.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "example.org/a"})
		}

		got, err := strip(o)
		if diff := cmp.Diff(any(was), got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("The cache should keep what is read of %T: -want, +got:\n%s", o, diff)
		}
	}

	if !r.owns(job) || !r.ownsPod(pod, job) || !isGated(pod) {
		t.Error("It should keep whose they are.")
	}

	job.Annotations[annotationKeepFor] = strings.Repeat("1", 1<<10)
	if _, err := strip(job); err != nil || job.Annotations[annotationKeepFor] != "" {
		t.Errorf("It should keep no long values: %v", err)
	}
}

// TestAttackView shows a run what others have put in its namespace.
func TestAttackView(t *testing.T) {
	r := onCluster(t)
	own := jobOf(t, r)
	forged := jobOf(t, r, func(j *batchv1.Job) { delete(j.Annotations, annotationProof) })
	relabeled := jobOf(t, r, func(j *batchv1.Job) { j.Labels[labelObject] = "another" })

	stripped := jobOf(t, r, func(j *batchv1.Job) { j.Labels, j.Annotations = nil, nil })

	other := onCluster(t)
	other.job.Object.UID = "victim"
	victims := jobOf(t, other)

	bare := podOf(own, "bare", 0)
	bare.OwnerReferences = nil

	foreign := podOf(own, "foreign", 0)
	foreign.OwnerReferences[0].UID = "another"

	cases := map[string]struct {
		reason  string
		objects []client.Object
		// uid of the Job, where the provider knows it.
		uid           types.UID
		job, unproved bool
		pod           string
	}{
		"Own":         {"The Job and the Pod of the run are found.", []client.Object{own, podOf(own, "own", time.Hour)}, "", true, false, "own"},
		"Newer":       {"A newer Pod with the labels of the run, which somebody has made, is not followed.", []client.Object{own, podOf(own, "own", time.Hour), bare}, "", true, false, "own"},
		"OtherOwner":  {"Nor is one of another Job.", []client.Object{own, foreign}, "", true, false, ""},
		"Forged":      {"A Job that somebody has made with the name and the labels of the run's may be that of a provider with another key.", []client.Object{forged}, "", true, true, ""},
		"ForgedKnown": {"Not so where the Job of the run is known.", []client.Object{forged}, "own", false, false, ""},
		"Relabeled":   {"One whose labels were changed is none.", []client.Object{relabeled}, "", false, false, ""},
		"Victims":     {"A status that names the Job of another object leads to nothing.", []client.Object{victims, podOf(victims, "victims", 0)}, "", false, false, ""},
		"Orphaned":    {"A Pod whose Job is gone still belongs to the run.", []client.Object{podOf(own, "own", 0)}, "", false, false, "own"},
		"Copied":      {"A Job that somebody has made anew, with its proof, is none, and its Pod is none.", []client.Object{own, podOf(own, "copy", 0)}, "own", false, false, ""},
		"Stripped":    {"The Job of the run is known without its labels and its proof.", []client.Object{stripped}, "job", true, false, ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t, tc.objects...)
			r.uid = tc.uid

			v, err := r.view(t.Context(), r.config.Client, client.MatchingLabels{labelRun: r.job.ID})
			if err != nil {
				t.Fatal(err)
			}

			pod := ""
			if v.pod != nil {
				pod = v.pod.Name
			}

			if (v.job != nil) != tc.job || v.unproved != tc.unproved || pod != tc.pod {
				t.Errorf("%s\nview(...): want Job %t, unproved %t, Pod %q, got Job %v, %t, Pod %q", tc.reason, tc.job, tc.unproved, tc.pod, v.job, v.unproved, pod)
			}
		})
	}
}

// TestAttackPods has somebody make Pods with the label of a run, each as large as it can be. Few are read at a time.
func TestAttackPods(t *testing.T) {
	j := jobOf(t, onCluster(t))
	objects := []client.Object{j, podOf(j, "z", time.Second)}

	for n := range 30 {
		p := podOf(j, fmt.Sprintf("made-%02d", n), time.Minute)
		p.OwnerReferences = nil
		objects = append(objects, p)
	}

	r := onCluster(t, objects...)
	cluster, _ := r.config.Client.(client.WithWatch)
	most := 0
	r.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(opts)
			if err := c.List(ctx, l, &client.ListOptions{Namespace: o.Namespace, LabelSelector: o.LabelSelector}); err != nil {
				return err
			}

			from, _ := strconv.Atoi(o.Continue)
			pods := l.(*corev1.PodList)

			if pods.Items = pods.Items[from:]; o.Limit > 0 && len(pods.Items) > int(o.Limit) {
				pods.Items, pods.Continue = pods.Items[:o.Limit], strconv.Itoa(from+int(o.Limit))
			}

			most = max(most, len(pods.Items))

			return nil
		},
	})

	v, err := r.live(t.Context())
	if err != nil || v.pod == nil || v.pod.Name != "z" {
		t.Fatalf("live(...): %+v, %v", v.pod, err)
	}

	if most > 2 {
		t.Errorf("live(...): %d Pods were read at once", most)
	}

	// A cache knows no pages, and says that there are more.
	r.scope = &scope{Cache: &asCache{reader: interceptor.NewClient(cluster, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(opts)
			if o.Continue != "" || o.Limit > 0 {
				return errors.New("continue list option is not supported by the cache")
			}

			err := byRun{c}.List(ctx, l, opts...)
			l.SetContinue("continue-not-supported")

			return err
		},
	})}}

	if v, err = r.known(t.Context(), false); err != nil || v.pod == nil || v.pod.Name != "z" {
		t.Fatalf("known(...): %+v, %v", v.pod, err)
	}
}

// TestAttackPodsOfMany has many runs ask the API server at a time, each of which somebody has made such Pods for.
func TestAttackPodsOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onCluster(t)
		cluster, _ := r.config.Client.(client.WithWatch)
		ctx, cancel := context.WithCancel(t.Context())

		var asking atomic.Int32

		r.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
				asking.Add(1)
				<-ctx.Done()

				return ctx.Err()
			},
		})

		for range 100 {
			of := *r
			go func() { _, _ = of.live(ctx) }()
		}

		synctest.Wait()
		cancel()

		if got := asking.Load(); got == 0 || got > 10 {
			t.Errorf("Pods are read for %d runs at a time", got)
		}
	})
}

// TestLongAttackPayload attaches to runs whose payload others have changed.
func TestLongAttackPayload(t *testing.T) {
	payload := fill(t)
	r := onCluster(t)

	secrets := func(change ...func([]*corev1.Secret) []*corev1.Secret) []client.Object {
		all, err := secretsOf(r.job, payload)
		if err != nil {
			t.Fatal(err)
		}

		parts := map[string][]byte{}
		for _, s := range all {
			s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: r.ref.Name, UID: "job"}}, batchv1.SchemeGroupVersion.WithKind("Job"))}
			maps.Copy(parts, s.Data)
		}

		all[0].Annotations = map[string]string{annotationProof: r.payloadProof("job", parts)}

		for _, fn := range change {
			all = fn(all)
		}

		var objects []client.Object
		for _, s := range all {
			objects = append(objects, s)
		}

		return objects
	}

	cases := map[string]struct {
		reason  string
		objects []client.Object
		uid     types.UID
		want    bool
	}{
		"Own":     {reason: "The payload that the provider has made is taken over.", objects: secrets(), want: true},
		"Victims": {reason: "A status that names the run of another object gets neither its inputs nor its key.", objects: secrets(), uid: "thief"},
		"Changed": {reason: "A payload that was changed is none, and is not unpacked.", objects: secrets(func(all []*corev1.Secret) []*corev1.Secret {
			all[1].Data[partName(1)][0] ^= 1
			return all
		})},
		"Adopted": {reason: "Nor is one that somebody has given to another Job.", objects: secrets(func(all []*corev1.Secret) []*corev1.Secret {
			all[0].OwnerReferences[0].UID = "another"
			return all
		})},
		"Shorter": {reason: "Nor is one that lacks its end.", objects: secrets(func(all []*corev1.Secret) []*corev1.Secret { return all[:1] })},
		"Longer": {reason: "Nor is one with another end.", objects: secrets(func(all []*corev1.Secret) []*corev1.Secret {
			more := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.ref.Namespace, Name: secretName(r.ref, len(all))}, Data: map[string][]byte{partName(len(all)): []byte("x")}}
			return append(all, more)
		})},
		"Labeled": {reason: "Another Secret with the labels of the run changes nothing.", want: true, objects: secrets(func(all []*corev1.Secret) []*corev1.Secret {
			more := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.ref.Namespace, Name: "more", Labels: all[0].Labels}, Data: map[string][]byte{partName(0): []byte("x")}}
			return append(all, more)
		})},
		"None": {reason: "Without Secrets there is no payload."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t, tc.objects...)
			if tc.uid != "" {
				r.job.Object.UID = tc.uid
			}

			parts, err := r.parts(t.Context())
			if got := len(parts) > 0; got != tc.want || err != nil || got != (r.uid == "job") {
				t.Errorf("%s\nparts(...): want %t, got %t, Job %q, %v", tc.reason, tc.want, got, r.uid, err)
			}
		})
	}
}

// TestAttackMake makes objects whose names others have taken.
func TestAttackMake(t *testing.T) {
	r := onCluster(t)
	own := jobOf(t, r)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: r.ref.Name}, Data: map[string][]byte{"payload.000": []byte("own")}}
	forgedSecret := secret.DeepCopy()
	forgedSecret.Data["payload.000"] = []byte("forged")

	cases := map[string]struct {
		reason      string
		there, make client.Object
		refused     bool
	}{
		"OwnJob":    {"A Job whose making was not answered is there.", own.DeepCopy(), jobOf(t, r), false},
		"TakenJob":  {"The inputs of a run are not given to the Job of somebody else.", jobOf(t, r, func(j *batchv1.Job) { delete(j.Annotations, annotationProof) }), jobOf(t, r), true},
		"OwnSecret": {"A Secret whose making was not answered is there.", secret.DeepCopy(), secret.DeepCopy(), false},
		"Taken":     {"A run does not begin with the inputs of somebody else.", forgedSecret, secret.DeepCopy(), true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t, tc.there)
			tc.make.SetResourceVersion("")

			err := r.make(t.Context(), tc.make)
			if got := errors.As(err, new(*refusal)); got != tc.refused || err != nil != tc.refused {
				t.Errorf("%s\nmake(...): want refused %t, got %v", tc.reason, tc.refused, err)
			}
		})
	}
}

// Some clusters let only those who may update the finalizers of a Job make what blocks its deletion.
func TestOwnedBy(t *testing.T) {
	ref := ownedBy(jobOf(t, onCluster(t)))
	if ref.UID != "job" || ref.Controller == nil || !*ref.Controller || ref.BlockOwnerDeletion != nil {
		t.Errorf("The Job should own its Secrets, and nothing should block its deletion: %v", ref)
	}
}

// TestAttackDelete has the provider delete the Job that a status names, and sweep up Jobs.
func TestAttackDelete(t *testing.T) {
	mine := onCluster(t)
	forge := func(j *batchv1.Job) { delete(j.Annotations, annotationProof) }

	cases := map[string]struct {
		reason string
		job    *batchv1.Job
		uid    types.UID
		gone   bool
	}{
		"Own":     {"The Job of a run is deleted.", jobOf(t, mine), "u", true},
		"Victims": {"That of another object is not.", jobOf(t, mine), "thief", false},
		"Forged":  {"Nor is one that somebody else has made: whether it goes would tell of objects in other namespaces.", jobOf(t, mine, forge), "u", false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t, tc.job.DeepCopy())
			r.job.Object.UID = tc.uid

			if err := r.delete(t.Context()); err != nil {
				t.Fatal(err)
			}

			err := r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(tc.job), &batchv1.Job{})
			if gone := err != nil; gone != tc.gone {
				t.Errorf("%s\ndelete(...): want gone %t, got %v", tc.reason, tc.gone, err)
			}

			if name == "Victims" {
				return
			}

			r = onCluster(t, tc.job.DeepCopy())
			if err := r.sweepJob(t.Context(), tc.job.DeepCopy()); err != nil {
				t.Fatal(err)
			}

			err = r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(tc.job), &batchv1.Job{})
			if gone := err != nil; gone != tc.gone {
				t.Errorf("%s\nsweepJob(...): want gone %t, got %v", tc.reason, tc.gone, err)
			}
		})
	}
}

// TestAttackReport has the image of a Pod, which may be anybody's, report what no run reports.
func TestAttackReport(t *testing.T) {
	report := func(phase common.RunPhase, change ...func(*executor.Report)) executor.Report {
		r := executor.Report{Run: common.Run{ID: "forged", Phase: phase, CompletionTime: new(metav1.NewTime(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))}}
		for _, fn := range change {
			fn(&r)
		}

		return r
	}

	cases := map[string]struct {
		reason string
		frame  sealed.Frame
		ended  bool
		phase  common.RunPhase
	}{
		"Succeeded":     {"A last report ends the run.", sealed.Frame{Final: true, Report: report(common.PhaseSucceeded)}, true, common.PhaseSucceeded},
		"NoPhase":       {"A phase that the API server would refuse in the status is not taken over.", sealed.Frame{Report: report("Hacked")}, false, common.PhaseQueued},
		"Unfinished":    {"A run that goes on has no last report: the pool would never forget it.", sealed.Frame{Final: true, Report: report(common.PhaseRunning)}, false, common.PhaseQueued},
		"Interrupted":   {"That a run was interrupted is for the cluster to say.", sealed.Frame{Final: true, Report: report(common.PhaseInterrupted)}, false, common.PhaseQueued},
		"StillAttached": {"A run cannot keep its report out of the status.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *executor.Report) { r.Attaching = true })}, true, common.PhaseFailed},
		"OwnCondition": {"A run reports no condition of Crossplane.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *executor.Report) {
			r.Reported = events.Report{Conditions: []xpv2.Condition{xpv2.Available()}}
		})}, true, common.PhaseFailed},
		"Dependents": {"A run that does not reach the API server has made nothing there.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *executor.Report) {
			r.Dependents = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "secrets"}}
		})}, true, common.PhaseFailed},
		"DependentPath": {"What others are to watch is the name of a kind, and not a path.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *executor.Report) {
			r.Dependents = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "../secrets"}}
		})}, false, common.PhaseQueued},
		"KindPath": {"Nor is what a run says that has not ended.", sealed.Frame{Report: report(common.PhaseRunning, func(r *executor.Report) {
			r.Kinds = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "../secrets"}}
		})}, false, common.PhaseQueued},
		"Kinds": {"A run that goes on has made nothing there, either.", sealed.Frame{Report: report(common.PhaseRunning, func(r *executor.Report) {
			r.Kinds = []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "secrets"}}
		})}, false, common.PhaseRunning},
		"DependentMany": {"As many are watched as of a run in the provider.", sealed.Frame{Final: true, Report: report(common.PhaseFailed, func(r *executor.Report) {
			r.Dependents = slices.Repeat([]common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "secrets"}}, 101)
		})}, false, common.PhaseQueued},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t)

			if ended := r.take(hear(tc.frame)); ended != tc.ended {
				t.Errorf("%s\ntake(...): want %t, got %t", tc.reason, tc.ended, ended)
			}

			got := r.report
			if got.Run.Phase != tc.phase || got.Attaching || len(got.Reported.Conditions)+len(got.Dependents)+len(got.Kinds) > 0 || got.Run.ID != r.job.ID {
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
	limits := func(memory string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: quantity(memory)}}
	}
	want := onCluster(t)
	plain := jobOf(t, want).Spec.Template

	if dir := plain.Spec.Containers[0].WorkingDir; dir != dirWork {
		t.Errorf("The run should begin in a directory that the user of any image may enter, not in %q", dir)
	}

	cases := map[string]struct {
		reason    string
		execution common.Execution
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
		"Limit": {
			reason:    "A limit below the default request stands alone: with that request the API server would refuse it.",
			execution: common.Execution{Resources: limits("128Mi")},
			change:    func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources = *limits("128Mi") },
		},
		"LimitOfTemplate": {
			reason:   "So does that of a template.",
			template: `{"spec":{"containers":[{"name":"run","resources":{"limits":{"memory":"128Mi"}}}]}}`,
			change:   func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources = *limits("128Mi") },
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := plain.DeepCopy()
			tc.change(want)

			r := onCluster(t)
			e := &r.job.Inputs.Execution
			e.Labels, e.Annotations, e.NodeSelector, e.Resources = tc.execution.Labels, tc.execution.Annotations, tc.execution.NodeSelector, tc.execution.Resources

			if tc.all != "" {
				r.config.Template = []byte(tc.all)
			}

			if tc.template != "" {
				e.PodTemplate = raw(tc.template)
			}

			if diff := cmp.Diff(*want, jobOf(t, r).Spec.Template); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReleaseUnended releases a Job with a container that goes on after that of the run.
func TestReleaseUnended(t *testing.T) {
	began := metav1.NewTime(time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC))

	cases := map[string]struct {
		reason string
		change func(*batchv1.Job)
		want   *int64
	}{
		"GoesOn": {"A Pod that goes on is ended: Kubernetes removes no Job before that.", func(j *batchv1.Job) { j.Status.StartTime = &began }, new(int64(3600 + 120))},
		"Ended": {"A Job that has ended needs no end.", func(j *batchv1.Job) {
			j.Status.StartTime = &began
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: began}}
		}, nil},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, onCluster(t), tc.change)
			r := onCluster(t, j)

			got := &batchv1.Job{}
			if err := r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(j), got); err != nil {
				t.Fatal(err)
			}

			if err := r.release(t.Context(), got.Namespace, got); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, got.Spec.ActiveDeadlineSeconds); diff != "" {
				t.Errorf("%s\nrelease(...): -want, +got:\n%s", tc.reason, diff)
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
	conditions := func(all ...xpv2.Condition) func(*executor.Report) {
		return func(r *executor.Report) { r.Reported.Conditions = all }
	}
	up := xpv2.Condition{Type: "Up", Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(1767319445, 0))}
	with := func(change func(*xpv2.Condition)) xpv2.Condition {
		c := up
		change(&c)

		return c
	}
	early := metav1.NewTime(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))

	cases := map[string]struct {
		reason string
		change func(*executor.Report)
		want   bool
	}{
		"Nothing":       {"A report may have nothing.", func(*executor.Report) {}, true},
		"Condition":     {"A run reports conditions.", conditions(up), true},
		"NoStatus":      {"A condition has one of three statuses.", conditions(with(func(c *xpv2.Condition) { c.Status = "Maybe" })), false},
		"NoTime":        {"A condition has a time.", conditions(with(func(c *xpv2.Condition) { c.LastTransitionTime = metav1.Time{} })), false},
		"LongCondition": {"The message of a condition is bounded.", conditions(with(func(c *xpv2.Condition) { c.Message = long })), false},
		"Twice":         {"A condition is there once.", conditions(up, up), false},
		"Outputs":       {"A run has outputs.", func(r *executor.Report) { r.Outputs = raw(`{"a":{"b":1.5}}`) }, true},
		"NoObject":      {"Outputs are an object.", func(r *executor.Report) { r.Outputs = raw(`[]`) }, false},
		"LongOutputs":   {"Outputs are bounded.", func(r *executor.Report) { r.Outputs = raw(`{"a":"` + long + `"}`) }, false},
		"LongReported": {"So are outputs that are reported.", func(r *executor.Report) {
			r.Reported.Outputs = map[string]json.RawMessage{"a": json.RawMessage(`"` + long + `"`)}
		}, false},
		"Number":      {"No number in outputs is larger than the API server keeps it.", func(r *executor.Report) { r.Outputs = raw(`{"a":1e999}`) }, false},
		"Details":     {"A run has connection details.", func(r *executor.Report) { r.ConnectionDetails = map[string][]byte{"a.b": []byte("x")} }, true},
		"NoKey":       {"Their names are keys of a Secret.", func(r *executor.Report) { r.ConnectionDetails = map[string][]byte{"a/b": nil} }, false},
		"LongDetails": {"They fit into a Secret.", func(r *executor.Report) { r.ConnectionDetails = map[string][]byte{"a": []byte(long + "x")} }, false},
		"Items": {"So many collections are installed nowhere.", func(r *executor.Report) {
			r.Content = &common.Content{Collections: make([]common.ContentItem, 100_000)}
		}, false},
		"LongItem": {"Content goes to the status, which is bounded.", func(r *executor.Report) { r.Content = &common.Content{Roles: []common.ContentItem{{Source: long}}} }, false},
		"Year":     {"Times are those of a run.", func(r *executor.Report) { r.Content = &common.Content{Resolved: &early} }, false},
		"Texts": {"Texts are cut.", func(r *executor.Report) {
			r.Run.Message, r.Run.Reason, r.Run.CurrentTask, r.Output = long, long, long, long
		}, true},
		"Lists": {"Lists are cut, and their texts.", func(r *executor.Report) {
			r.Changed = make([]common.DriftTask, 1000)
			r.Run.Failures = make([]common.Failure, 1000)
			r.Changed[0].Diff, r.Run.Failures[0].Message = long, long
		}, true},
		"NotBefore": {"A run does not put off the next one.", func(r *executor.Report) { r.NotBefore = time.Unix(1<<36, 0) }, true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t)
			f := sealed.Frame{Final: true, Report: executor.Report{Run: common.Run{Phase: common.PhaseFailed}}}
			tc.change(&f.Report)

			if got := r.take(hear(f)); got != tc.want || got != (r.unbelieved == nil) {
				t.Errorf("%s\ntake(...): want %t, got %t, %v", tc.reason, tc.want, got, r.unbelieved)
			}

			r.report.ConnectionDetails = nil

			text, err := json.Marshal(r.report) //nolint:musttag // Its length counts.
			if err != nil || len(text) > 200<<10 || len(r.report.Changed) > events.MaxChanged || len(r.report.Run.Failures) > events.MaxFailures || !r.report.NotBefore.IsZero() {
				t.Errorf("%s\nThe status would get %d bytes, %v, %v", tc.reason, len(text), r.report.NotBefore, err)
			}
		})
	}
}

// TestAttackTasks counts tasks that an image has made up. Each outcome is a series of a metric.
func TestAttackTasks(t *testing.T) {
	r := onCluster(t)

	var got []events.TaskOutcome

	r.watch.Task = func(r events.TaskResult) { got = append(got, r.Outcome) }
	r.take(hear(sealed.Frame{
		Time: time.Now(), Report: executor.Report{Run: common.Run{Phase: common.PhaseRunning}},
		Tasks: []events.TaskResult{{Outcome: "forged 1"}, {Outcome: events.OutcomeOK}, {Outcome: "forged 2"}},
	}))

	if diff := cmp.Diff([]events.TaskOutcome{events.OutcomeOK}, got); diff != "" {
		t.Errorf("Only known outcomes count: -want, +got:\n%s", diff)
	}
}

// TestKeyReplaced follows a run that a provider with another key has begun. Nothing runs beside it,
// and it is not taken over: the Job may be anybody's.
func TestKeyReplaced(t *testing.T) {
	forge := func(j *batchv1.Job) { delete(j.Annotations, annotationProof) }
	j := jobOf(t, onCluster(t), forge)
	p := podOf(j, "p", 0)
	p.Spec.NodeName = "n"

	cases := map[string]struct {
		reason  string
		objects []client.Object
		cancel  bool
		ended   common.RunPhase
	}{
		"Suspended": {"A Job that may still get a Pod is waited for.", []client.Object{jobOf(t, onCluster(t), forge, suspended)}, false, ""},
		"Pending":   {"So is a Pod that has not started.", []client.Object{j, withStatus(p, aPod(corev1.PodPending).Status)}, false, ""},
		"Running":   {"So is one that runs.", []client.Object{j, withStatus(p, aPod(corev1.PodRunning, container(containerRun, running())).Status)}, false, ""},
		"Canceled":  {"A cancelation deletes nothing that may be anybody's.", []client.Object{j, withStatus(p, aPod(corev1.PodRunning, container(containerRun, running())).Status)}, true, ""},
		"Succeeded": {
			"What it did is not known: the run is made up for.",
			[]client.Object{j, withStatus(p, aPod(corev1.PodSucceeded, container(containerRun, terminated(0, "", ""))).Status)},
			false, common.PhaseInterrupted,
		},
		"CanceledAndEnded": {
			"A run that was canceled is over when its Pod is.",
			[]client.Object{j, withStatus(p, aPod(corev1.PodSucceeded, container(containerRun, terminated(0, "", ""))).Status)},
			true, common.PhaseCanceled,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t, tc.objects...)
			r.scope = &scope{Cache: &asCache{reader: byRun{r.config.Client}}}
			r.since = r.now()

			if ended := r.look(t.Context(), tc.cancel); ended != (tc.ended != "") {
				t.Fatalf("%s\nlook(...): %t, %+v", tc.reason, ended, r.report.Run)
			}

			got := r.report.Run
			if tc.ended == "" && !strings.Contains(got.Message, "kubectl delete job --namespace=ns ansiblerun-id") || tc.ended != "" && got.Phase != tc.ended {
				t.Errorf("%s\nlook(...): %+v", tc.reason, got)
			}

			if err := r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(j), &batchv1.Job{}); err != nil {
				t.Errorf("The Job should be left alone: %v", err)
			}
		})
	}
}

// TestAttackAgain shows a run that has ended as in progress again. Its Secrets are gone, and its Job is kept for a while.
func TestAttackAgain(t *testing.T) {
	j := jobOf(t, onCluster(t))
	p := podOf(j, "p", time.Second)

	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		want    bool
	}{
		"Gone":      {"Where nothing is left, the run has ended.", nil, true},
		"Ended":     {"So it has where the Job is left.", []client.Object{j, withStatus(p, aPod(corev1.PodSucceeded, container(containerRun, terminated(0, "Completed", ""))).Status)}, true},
		"Suspended": {"A Job that somebody has made again, and that never begins, is deleted.", []client.Object{jobOf(t, onCluster(t), suspended)}, true},
		"Runs":      {"A Pod that runs is waited for, whoever has made it.", []client.Object{j, withStatus(p, aPod(corev1.PodRunning, container(containerRun, running())).Status)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, job := waitingOn(t, false, nil, nil, 0)
				for _, o := range tc.objects {
					// It is not made by the run.
					if err := x.scopes.all[""].Cache.(*asCache).reader.(byRun).Create(t.Context(), o.DeepCopyObject().(client.Object)); err != nil {
						t.Fatal(err)
					}
				}

				job.Begun = &common.Run{ID: job.ID, Phase: common.PhaseRunning, Job: job.Reference(), StartTime: new(metav1.Now())}

				ctx, cancel := context.WithTimeout(t.Context(), lookEvery)
				defer cancel()

				if got := x.Execute(t.Context(), job, executor.Watch{Provider: ctx}); got.Run.Phase.Finished() != tc.want {
					t.Errorf("%s\nExecute(...): %+v", tc.reason, got.Run)
				}
			})
		})
	}
}

// TestAttackHold keeps the Job of a canceled run from going.
func TestAttackHold(t *testing.T) {
	held := func(o client.Object) {
		o.SetFinalizers([]string{"example.org/mine"})
		o.SetDeletionTimestamp(new(metav1.Now()))
	}
	j := jobOf(t, onCluster(t), func(j *batchv1.Job) { held(j) })
	ended := withStatus(podOf(j, "p", 0), aPod(corev1.PodFailed, container(containerRun, terminated(143, "", ""))).Status)
	held(ended)
	runs := withStatus(podOf(j, "p", 0), aPod(corev1.PodRunning, container(containerRun, running())).Status)
	held(runs)

	cases := map[string]struct {
		reason  string
		objects []client.Object
		after   time.Duration
		ended   bool
		message string
	}{
		"Soon":  {"Kubernetes needs a moment to remove a Job.", []client.Object{j}, time.Second, false, ""},
		"Job":   {"A Job without a Pod that somebody holds runs nothing.", []client.Object{j}, heldFor, true, "canceled"},
		"Pod":   {"Nor does a Pod that has ended.", []client.Object{j, ended}, heldFor, true, "canceled"},
		"Runs":  {"A Pod that has not ended is waited for, and the status says so.", []client.Object{j, runs}, time.Hour, false, "the run ends when its Pod p has ended on node "},
		"Other": {"Also if its Job is gone.", []client.Object{runs}, time.Hour, false, "the run ends when its Pod p has ended on node "},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t, tc.objects...)
			r.scope = &scope{Cache: &asCache{reader: byRun{r.config.Client}}}
			r.uid, r.canceled = j.UID, r.now().Add(-tc.after)

			if got := r.look(t.Context(), true); got != tc.ended || r.report.Run.Message != tc.message {
				t.Errorf("%s\nlook(...): want %t, %q, got %t, %+v", tc.reason, tc.ended, tc.message, got, r.report.Run)
			}
		})
	}
}

func withStatus(p *corev1.Pod, s corev1.PodStatus) *corev1.Pod {
	p = p.DeepCopy()
	p.Status = s

	return p
}

// byRun reads Pods by the index of a cache, which a client does not have.
type byRun struct{ client.Client }

func (r byRun) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	o.FieldSelector = nil

	return r.Client.List(ctx, l, o)
}
