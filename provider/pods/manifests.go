package pods

import (
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Labels and annotations of Pods and their Secrets.
const (
	labelRun    = "ansible.crossplane.io/run"
	labelObject = "ansible.crossplane.io/uid"

	annotationKind      = "ansible.crossplane.io/kind"
	annotationName      = "ansible.crossplane.io/name"
	annotationNamespace = "ansible.crossplane.io/namespace"
	annotationKeepFor   = "ansible.crossplane.io/keepFor"
	// annotationSecrets is the number of Secrets of the Pod.
	annotationSecrets = "ansible.crossplane.io/secrets"
	// annotationMark proves that a request of this run has created the object.
	annotationMark = "ansible.crossplane.io/mark"
)

// Containers of the Pod.
const (
	containerRun     = "run"
	containerCopy    = "provider-ansible"
	containerInstall = "install"
)

// Directories in the Pod.
const (
	// dirWork is writable, and deleted with the Pod.
	dirWork = "/ansible"
	dirTmp  = "/tmp"
	// dirPayload is the mount of the payload. Runs cannot read below dirSecrets.
	dirPayload = dirSecrets + "/ansible.crossplane.io/run"
	dirSecrets = "/var/run/secrets"
	binary     = dirWork + "/bin/provider-ansible"
	// dirContent is the mount of the content, read-only in the container of the run.
	dirContent    = "/ansible-content"
	volumeContent = "ansible-content"
)

// group is the fsGroup of a volume for content, if its type supports one.
const group = 2000

const (
	// maxKeepFor is the largest keepFor of a configuration.
	maxKeepFor = 7 * 24 * time.Hour
	// overTime is the time that a Pod has in addition to the timeouts of its run and of the installation.
	overTime = 5 * time.Minute
)

// newPod returns the Pod of a run with a number of Secrets. The last Secret has the token of the run, if any.
func (x *Backend) newPod(todo runs.Run, own Own, secrets int) (*corev1.Pod, error) {
	ref := todo.Pod()

	template, err := x.template(todo, own, secrets)
	if err != nil {
		return nil, err
	}

	template.Annotations[annotationKeepFor] = todo.Inputs.Execution.KeepFor.Duration.String()
	template.Annotations[annotationSecrets] = strconv.Itoa(secrets)

	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ref.Namespace, Name: ref.Name, Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: ownerOf(todo),
		},
		Spec: template.Spec,
	}, nil
}

// ownerOf returns the owner of the Pod of a run: its AnsibleRun, or a cluster scoped configuration if the AnsibleRun is
// in another namespace. kubectl drain, and policies against unmanaged Pods, refuse Pods without a controller.
func ownerOf(todo runs.Run) []metav1.OwnerReference {
	o := todo.Object

	switch {
	case o.Namespace == "" || o.Namespace == todo.Inputs.Execution.Namespace:
		return []metav1.OwnerReference{{
			APIVersion: todo.Kind.GroupVersion().String(), Kind: todo.Kind.Kind, Name: o.Name, UID: o.UID, Controller: new(true),
		}}
	case todo.Inputs.Owner != nil:
		return []metav1.OwnerReference{*todo.Inputs.Owner}
	}

	return nil
}

// template returns the template of the Pod: the provider's defaults, overridden by --pod-template, by the template of
// the configuration, and by the fields that the provider sets.
func (x *Backend) template(todo runs.Run, provider Own, secrets int) (corev1.PodTemplateSpec, error) {
	e := todo.Inputs.Execution

	defaults := corev1.PodSpec{Containers: []corev1.Container{{Name: containerRun, Env: x.config.Env}}}
	if provider.Namespace == e.Namespace {
		defaults.ImagePullSecrets = provider.PullSecrets
	}

	if e.ContentVolumeClaim != "" {
		defaults.SecurityContext = &corev1.PodSecurityContext{
			FSGroup:             new(int64(group)),
			FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
		}
	}

	t := corev1.PodTemplateSpec{}

	text, err := json.Marshal(corev1.PodTemplateSpec{Spec: defaults})
	if err != nil {
		return t, errors.Wrap(err, "cannot encode the defaults of Pods")
	}

	own, err := json.Marshal(x.own(todo, provider, secrets))
	if err != nil {
		return t, errors.Wrap(err, "cannot encode the fields of Pods that the provider sets")
	}

	given := []byte("{}")
	if e.PodTemplate != nil {
		given = e.PodTemplate.Raw
	}

	for _, over := range []struct {
		text []byte
		what string
	}{
		{x.config.Template, "the template of --pod-template"},
		{given, "spec.execution.podTemplate"},
		{own, "the fields of Pods that the provider sets into spec.execution.podTemplate"},
	} {
		if over.text == nil {
			continue
		}

		if text, err = strategicpatch.StrategicMergePatch(text, over.text, t); err != nil {
			return t, errors.Wrap(err, "cannot merge "+over.what)
		}
	}

	if err := json.Unmarshal(text, &t); err != nil {
		return t, errors.Wrap(err, "spec.execution.podTemplate is not a PodTemplateSpec")
	}

	// Keys of users must not act as directives of a strategic merge patch.
	t.Labels = labels.Merge(t.Labels, labels.Merge(e.Labels, labelsOf(todo)))
	t.Annotations = labels.Merge(t.Annotations, labels.Merge(e.Annotations, annotationsOf(todo)))

	if len(e.NodeSelector) > 0 {
		t.Spec.NodeSelector = labels.Merge(t.Spec.NodeSelector, e.NodeSelector)
	}

	for i := range t.Spec.Containers {
		if c := &t.Spec.Containers[i]; c.Name == containerRun {
			complete(&t.Spec, c, todo, provider)
		}
	}

	return t, nil
}

// complete completes the container of the run, and the init containers that depend on it.
func complete(spec *corev1.PodSpec, c *corev1.Container, todo runs.Run, provider Own) {
	// A merge does not remove a command of a template. A container that restarts would execute the run twice.
	c.Command, c.RestartPolicy, c.RestartPolicyRules = nil, nil, nil
	c.Args = append(c.Args, granted(c.VolumeMounts)...)

	// The defaults are used completely or not at all: a default request may be above a given limit.
	switch e := todo.Inputs.Execution; {
	case e.Resources != nil:
		c.Resources = *e.Resources
	case reflect.DeepEqual(c.Resources, corev1.ResourceRequirements{}):
		c.Resources = defaultResources()
	}

	if c.Image != provider.Image {
		c.Command = []string{binary}

		// The container of the run has the resources that a quota or a LimitRange of the namespace requires.
		for i := range spec.InitContainers {
			if before := &spec.InitContainers[i]; before.Name == containerCopy {
				before.Resources = *c.Resources.DeepCopy()
			}
		}
	}

	if content.MayNeed(todo.Inputs) {
		spec.InitContainers = append(spec.InitContainers, installer(*c))
	}
}

// granted returns the arguments that give the run access to the mounts of templates, except those in the provider's own
// directories and in the directories of service accounts.
func granted(mounts []corev1.VolumeMount) []string {
	var args []string

	for _, m := range mounts {
		at := path.Clean(m.MountPath)
		private := at == dirTmp || slices.ContainsFunc([]string{dirWork, dirContent, dirSecrets, "/run/secrets"},
			func(dir string) bool { return sandbox.Within(at, dir) || sandbox.Within(dir, at) })

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

// installer returns the container that installs content: a copy of the container of the run, with the additions of
// templates. Only this container can write to the volume for content.
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

// content returns the volume for content, and its mount: on a claim, the directory of the configuration and the tenant
// of the run.
func (x *Backend) content(todo runs.Run) (corev1.Volume, corev1.VolumeMount) {
	v := corev1.Volume{Name: volumeContent, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	m := corev1.VolumeMount{Name: volumeContent, MountPath: dirContent, ReadOnly: true}

	if claim := todo.Inputs.Execution.ContentVolumeClaim; claim != "" {
		v.VolumeSource = corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}
		m.SubPath = path.Join("ansible-content", x.contentDir(todo))
	}

	return v, m
}

// Deadline returns the longest duration of a Pod for a run with a timeout; 0 means none.
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

// own returns the fields of a Pod that the provider sets, except labels, annotations and node selectors. They meet the
// Pod Security Standard "restricted".
func (x *Backend) own(todo runs.Run, provider Own, secrets int) corev1.PodTemplateSpec {
	e := todo.Inputs.Execution
	work := []corev1.VolumeMount{{Name: "ansible", MountPath: dirWork}, {Name: "ansible-tmp", MountPath: dirTmp}}

	run := corev1.Container{
		Name:            containerRun,
		Image:           provider.Image,
		ImagePullPolicy: e.ImagePullPolicy,
		WorkingDir:      dirWork, // The user may lack access to the working directory of the image.
		Args: append([]string{"work", "--payload=" + dirPayload, "--state-dir=" + path.Join(dirWork, "state")},
			x.config.Args...),
		Env:             []corev1.EnvVar{{Name: "HOME", Value: path.Join(dirWork, "home")}},
		SecurityContext: restricted(),
		VolumeMounts: append(slices.Clone(work),
			corev1.VolumeMount{Name: "ansible-run", MountPath: dirPayload, ReadOnly: true}),
	}

	volume, mount := x.content(todo)
	if content.MayNeed(todo.Inputs) {
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
		ImagePullSecrets:             e.ImagePullSecrets,
		Tolerations:                  e.Tolerations,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: []corev1.Volume{
			{Name: "ansible", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "ansible-tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "ansible-run", VolumeSource: corev1.VolumeSource{Projected: projected(todo, secrets)}},
		},
	}

	if content.MayNeed(todo.Inputs) {
		spec.Volumes = append(spec.Volumes, volume)
	}

	if d := Deadline(todo.Timeout); d > 0 {
		spec.ActiveDeadlineSeconds = new(int64(d.Seconds()))
	}

	// Another image does not contain the provider. A container of the provider's image copies it.
	if e.Image != "" && e.Image != provider.Image {
		spec.InitContainers = []corev1.Container{{
			Name: containerCopy, Image: provider.Image, ImagePullPolicy: e.ImagePullPolicy,
			// Mode 755, since the image of the run has another user.
			Command:         []string{"install", "-D", "--mode=755", "/usr/local/bin/provider-ansible", binary},
			SecurityContext: restricted(), VolumeMounts: work,
		}}
		run.Image = e.Image
	}

	spec.Containers = []corev1.Container{run}

	return corev1.PodTemplateSpec{Spec: spec}
}

func labelsOf(todo runs.Run) map[string]string {
	return map[string]string{
		"app.kubernetes.io/managed-by": "provider-ansible", labelRun: todo.ID,
		labelObject: string(todo.Object.UID),
	}
}

func annotationsOf(todo runs.Run) map[string]string {
	return map[string]string{
		annotationKind: todo.Kind.GroupKind().String(), annotationName: todo.Object.Name,
		annotationNamespace: todo.Object.Namespace,
	}
}

// restricted returns the security context of a container.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// projected returns a volume with all Secrets of a run, and the UID of the Pod.
func projected(todo runs.Run, secrets int) *corev1.ProjectedVolumeSource {
	v := &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o444)), Sources: []corev1.VolumeProjection{{
		DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: filePod, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"},
		}}},
	}}}

	for n := range secrets {
		s := &corev1.SecretProjection{}
		s.Name = secretName(todo.Pod().Name, n)

		if n == secrets-1 && todo.Inputs.Kubernetes != nil {
			s.Items = []corev1.KeyToPath{{Key: FileToken, Path: FileToken}}
		}

		v.Sources = append(v.Sources, corev1.VolumeProjection{Secret: s})
	}

	return v
}

// keepFor returns the time that a Pod is kept after its end. Other clients may have changed the annotation.
func keepFor(p *corev1.Pod) time.Duration {
	d, err := time.ParseDuration(p.Annotations[annotationKeepFor])
	if err != nil || d < 0 || d > maxKeepFor {
		return common.DefaultKeepFor
	}

	return d
}
