package pods

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Labels and annotations of Jobs, their Pods and their Secrets.
const (
	labelRun    = "ansible.crossplane.io/run"
	labelObject = "ansible.crossplane.io/uid"

	annotationKind      = "ansible.crossplane.io/kind"
	annotationName      = "ansible.crossplane.io/name"
	annotationNamespace = "ansible.crossplane.io/namespace"
	annotationKeepFor   = "ansible.crossplane.io/keepFor"
	// annotationReleased is "true" once nothing is left to do for a Job but to wait until Kubernetes removes it.
	annotationReleased = "ansible.crossplane.io/released"
)

// Containers of the Pod.
const (
	containerRun     = "run"
	containerCopy    = "provider-ansible"
	containerInstall = "install"
)

// Directories in the Pod.
const (
	// dirWork is writable, and gone with the Pod.
	dirWork = "/ansible"
	dirTmp  = "/tmp"
	// dirPayload has the payload. No run may read below dirSecrets.
	dirPayload = dirSecrets + "/ansible.crossplane.io/run"
	dirSecrets = "/var/run/secrets"
	binary     = dirWork + "/bin/provider-ansible"
	// dirContent has the content. The container of the run can only read it.
	dirContent    = "/ansible-content"
	volumeContent = "ansible-content"
)

// gate keeps a Pod from being scheduled until the provider opens it for the one that is to run:
// Kubernetes may make more than one Pod for a Job.
const gate = "ansible.crossplane.io/run"

// group of the files on a volume for content, where the kind of volume gives them one.
const group = 2000

const (
	// lostAfter is how long an ended Job is kept whose report was not recorded.
	lostAfter = 24 * time.Hour
	// maxKeepFor is the most that a configuration may say in keepFor.
	maxKeepFor = 7 * 24 * time.Hour
	// overTime is how much longer a Pod may live than its run and the installation of its
	// content may take.
	overTime = 5 * time.Minute
)

// newJob returns the Job of a run.
func (x *Executor) newJob(j executor.Job, own Own, secrets []string) (*batchv1.Job, error) {
	e := j.Inputs.Execution
	ref := j.Reference()

	template, err := x.template(j, own, secrets)
	if err != nil {
		return nil, err
	}

	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ref.Namespace, Name: ref.Name, Labels: template.Labels,
			Annotations: merged(template.Annotations,
				map[string]string{annotationKeepFor: e.KeepFor.Duration.String(), annotationReleased: "false"}),
		},
		Spec: batchv1.JobSpec{
			Completions:             new(int32(1)),
			Parallelism:             new(int32(1)),
			BackoffLimit:            new(int32(0)),
			PodReplacementPolicy:    new(batchv1.Failed),
			TTLSecondsAfterFinished: new(int32(lostAfter.Seconds())),
			Template:                template,
		},
	}
	job.Annotations[annotationProof] = x.jobProof(job)

	return job, nil
}

// template of the Pod: that of the provider, with the one of the configuration over it, and what
// the provider sets over that.
func (x *Executor) template(j executor.Job, provider Own, secrets []string) (corev1.PodTemplateSpec, error) {
	e := j.Inputs.Execution

	defaults := corev1.PodSpec{Containers: []corev1.Container{{Name: containerRun, Env: x.config.Env}}}
	if e.ContentVolumeClaim != "" {
		defaults.SecurityContext = &corev1.PodSecurityContext{
			FSGroup:             new(int64(group)),
			FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
		}
	}

	text, err := json.Marshal(corev1.PodTemplateSpec{Spec: defaults})
	if err != nil {
		return corev1.PodTemplateSpec{}, errors.Wrap(err, "cannot encode the defaults of Pods")
	}

	if x.config.Template != nil {
		if text, err = strategicpatch.StrategicMergePatch(text, x.config.Template, corev1.PodTemplateSpec{}); err != nil {
			return corev1.PodTemplateSpec{}, errors.Wrap(err, "cannot merge the template of --pod-template")
		}
	}

	if e.PodTemplate != nil {
		if text, err = strategicpatch.StrategicMergePatch(text, e.PodTemplate.Raw, corev1.PodTemplateSpec{}); err != nil {
			return corev1.PodTemplateSpec{}, errors.Wrap(err, "cannot merge spec.execution.podTemplate")
		}
	}

	own, err := json.Marshal(x.own(j, provider, secrets))
	if err != nil {
		return corev1.PodTemplateSpec{}, errors.Wrap(err, "cannot encode what the provider sets of Pods")
	}

	if text, err = strategicpatch.StrategicMergePatch(text, own, corev1.PodTemplateSpec{}); err != nil {
		return corev1.PodTemplateSpec{}, errors.Wrap(err,
			"cannot merge what the provider sets of Pods over spec.execution.podTemplate")
	}

	t := corev1.PodTemplateSpec{}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, errors.Wrap(err, "spec.execution.podTemplate is no PodTemplateSpec")
	}

	// Keys of users are no directives of a patch.
	t.Labels = merged(t.Labels, merged(e.Labels, labelsOf(j)))
	t.Annotations = merged(t.Annotations, merged(e.Annotations, annotationsOf(j)))

	if len(e.NodeSelector) > 0 {
		t.Spec.NodeSelector = merged(t.Spec.NodeSelector, e.NodeSelector)
	}

	// A Pod that no scheduler places has no gates.
	if t.Spec.NodeName == "" {
		t.Spec.SchedulingGates = append(t.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}

	for i := range t.Spec.Containers {
		if c := &t.Spec.Containers[i]; c.Name == containerRun {
			complete(&t.Spec, c, j, provider)
		}
	}

	return t, nil
}

// complete the container of the run, and those before it that follow from it.
func complete(spec *corev1.PodSpec, c *corev1.Container, j executor.Job, provider Own) {
	// An empty command of the provider's does not replace that of a template. A container that is
	// started again would run twice.
	c.Command, c.RestartPolicy, c.RestartPolicyRules = nil, nil, nil
	c.Args = append(c.Args, granted(c.VolumeMounts)...)

	// Half of the defaults may contradict what is given: a request above a limit.
	switch e := j.Inputs.Execution; {
	case e.Resources != nil:
		c.Resources = *e.Resources
	case reflect.DeepEqual(c.Resources, corev1.ResourceRequirements{}):
		c.Resources = defaultResources()
	}

	if c.Image != provider.Image {
		c.Command = []string{binary}

		// What a quota or a LimitRange of the namespace wants, the container of the run has.
		for i := range spec.InitContainers {
			if before := &spec.InitContainers[i]; before.Name == containerCopy {
				before.Resources = *c.Resources.DeepCopy()
			}
		}
	}

	if content.MayNeed(j.Inputs) {
		spec.InitContainers = append(spec.InitContainers, installer(*c))
	}
}

// granted are the arguments that let the run use what templates mount in its container: anything
// but the provider's own directories and those of service accounts.
func granted(mounts []corev1.VolumeMount) []string {
	var args []string

	for _, m := range mounts {
		private := m.MountPath == dirTmp || slices.ContainsFunc([]string{dirWork, dirContent, dirSecrets, "/run/secrets"},
			func(dir string) bool {
				return within(m.MountPath, dir) || within(dir, m.MountPath)
			})

		switch {
		case private:
		case m.ReadOnly:
			args = append(args, "--read-path="+m.MountPath)
		default:
			args = append(args, "--write-path="+m.MountPath)
		}
	}

	return args
}

// within is true for a path that is a directory, or below it.
func within(p, dir string) bool {
	dir = strings.TrimSuffix(path.Clean(dir), "/")

	return p == dir || strings.HasPrefix(path.Clean(p), dir+"/")
}

// installer is the container that installs content, by the container of the run, whatever a
// template has added to that. It alone may write to the volume for content.
func installer(run corev1.Container) corev1.Container {
	c := *run.DeepCopy()
	c.Name = containerInstall
	c.Args = append(c.Args, "--install")
	c.Ports, c.Lifecycle, c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil, nil, nil

	for i := range c.VolumeMounts {
		if m := &c.VolumeMounts[i]; m.Name == volumeContent {
			m.ReadOnly = false
		}
	}

	return c
}

// content returns the volume for content, and the mount of what belongs to the configuration and
// the tenant of a job.
func (x *Executor) content(j executor.Job) (corev1.Volume, corev1.VolumeMount) {
	v := corev1.Volume{Name: volumeContent, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	m := corev1.VolumeMount{Name: volumeContent, MountPath: dirContent, ReadOnly: true}

	if claim := j.Inputs.Execution.ContentVolumeClaim; claim != "" {
		v.VolumeSource = corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}
		m.SubPath = path.Join("ansible-content", x.contentDir(j))
	}

	return v, m
}

// Deadline of a Pod whose run has a timeout; 0 means none.
func Deadline(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return 0
	}

	return 2*timeout + overTime
}

func defaultResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("100m"),
			corev1.ResourceMemory: resource.MustParse("256Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
}

// own is what the provider sets of a Pod, but for what users name: labels, annotations and nodes. It meets Pod
// Security's standard "restricted".
func (x *Executor) own(j executor.Job, provider Own, secrets []string) corev1.PodTemplateSpec {
	e := j.Inputs.Execution
	work := []corev1.VolumeMount{{Name: "ansible", MountPath: dirWork}, {Name: "ansible-tmp", MountPath: dirTmp}}

	run := corev1.Container{
		Name:            containerRun,
		Image:           provider.Image,
		ImagePullPolicy: e.ImagePullPolicy,
		WorkingDir:      dirWork, // The user of an image may not enter that of the image.
		Args: append([]string{"work", "--payload=" + dirPayload, "--state-dir=" + path.Join(dirWork, "state")},
			x.config.Args...),
		Env:             []corev1.EnvVar{{Name: "HOME", Value: path.Join(dirWork, "home")}},
		SecurityContext: restricted(),
		VolumeMounts: append(slices.Clone(work),
			corev1.VolumeMount{Name: "ansible-run", MountPath: dirPayload, ReadOnly: true}),
	}

	volume, mount := x.content(j)
	if content.MayNeed(j.Inputs) {
		run.Args = append(run.Args, "--content="+dirContent)
		run.VolumeMounts = append(run.VolumeMounts, mount)
	}

	if e.ServiceAccountName != "" {
		run.Args = append(run.Args, "--service-account")
	}

	spec := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		ServiceAccountName:           e.ServiceAccountName,
		AutomountServiceAccountToken: new(e.ServiceAccountName != ""),
		EnableServiceLinks:           new(false),
		ImagePullSecrets:             provider.pullSecrets(j),
		Tolerations:                  e.Tolerations,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: []corev1.Volume{
			{Name: "ansible", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "ansible-tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "ansible-run", VolumeSource: corev1.VolumeSource{Projected: projected(j, secrets)}},
		},
	}

	if content.MayNeed(j.Inputs) {
		spec.Volumes = append(spec.Volumes, volume)
	}

	if d := Deadline(j.Timeout); d > 0 {
		spec.ActiveDeadlineSeconds = new(int64(d.Seconds()))
	}

	// Another image has no provider. A container of the provider's image brings it.
	if e.Image != "" && e.Image != provider.Image {
		spec.InitContainers = []corev1.Container{{
			Name: containerCopy, Image: provider.Image, ImagePullPolicy: e.ImagePullPolicy, Args: []string{"copy", binary},
			SecurityContext: restricted(), VolumeMounts: work,
		}}
		run.Image = e.Image
	}

	spec.Containers = []corev1.Container{run}

	return corev1.PodTemplateSpec{Spec: spec}
}

// pullSecrets of the Pod of a job: those of its configuration, and the provider's where they are.
func (o Own) pullSecrets(j executor.Job) []corev1.LocalObjectReference {
	secrets := slices.Clone(j.Inputs.Execution.ImagePullSecrets)
	if j.Reference().Namespace != o.Namespace {
		return secrets
	}

	for _, s := range o.PullSecrets {
		if !slices.Contains(secrets, s) {
			secrets = append(secrets, s)
		}
	}

	return secrets
}

func labelsOf(j executor.Job) map[string]string {
	return map[string]string{
		"app.kubernetes.io/managed-by": "provider-ansible", labelRun: j.ID,
		labelObject: string(j.Object.UID),
	}
}

func annotationsOf(j executor.Job) map[string]string {
	return map[string]string{
		annotationKind: j.Kind.GroupKind().String(), annotationName: j.Object.Name,
		annotationNamespace: j.Object.Namespace,
	}
}

// restricted is the security context of a container.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// projected is a volume with all of some Secrets, the UID of the Pod, and the token of the run.
func projected(j executor.Job, secrets []string) *corev1.ProjectedVolumeSource {
	v := &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o444)), Sources: []corev1.VolumeProjection{{
		DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: filePod, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"},
		}}},
	}}}

	for _, name := range secrets {
		v.Sources = append(v.Sources,
			corev1.VolumeProjection{
				Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
			})
	}

	if j.Inputs.Kubernetes != nil {
		v.Sources = append(v.Sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: tokenName(*j.Reference())},
			Items:                []corev1.KeyToPath{{Key: FileToken, Path: FileToken}},
		}})
	}

	return v
}

// secretsOf returns the Secrets with the payload of a run.
func secretsOf(j executor.Job, p Payload) ([]*corev1.Secret, error) {
	parts, err := p.parts()
	if err != nil {
		return nil, err
	}

	ref := j.Reference()

	var all []*corev1.Secret

	for n := range len(parts) {
		key := partName(n)

		all = append(all, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: secretName(*ref, n), Labels: labelsOf(j)},
			Type:       "ansible.crossplane.io/run",
			Immutable:  new(true),
			Data:       map[string][]byte{key: parts[key]},
		})
	}

	return all, nil
}

// secretName is the name of the Secret with the part of a payload with a number, from 0.
func secretName(ref common.JobReference, n int) string {
	if n == 0 {
		return ref.Name
	}

	return fmt.Sprintf("%s-%03d", ref.Name, n)
}

// merged is a map with another one over it.
func merged(under, over map[string]string) map[string]string {
	all := maps.Clone(under)
	if all == nil {
		all = map[string]string{}
	}

	maps.Copy(all, over)

	return all
}

// keepFor is how long a Job is to be kept after its end, in whole seconds. Somebody may have changed it.
func keepFor(j *batchv1.Job) time.Duration {
	d, err := time.ParseDuration(j.Annotations[annotationKeepFor])
	if err != nil || d < 0 || d > maxKeepFor {
		return common.DefaultKeepFor
	}

	return d.Truncate(time.Second)
}
