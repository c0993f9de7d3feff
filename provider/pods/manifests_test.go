package pods

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func raw(s string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(s)} }

// requiring makes a run need content.
func requiring(r *run) { r.todo.Inputs.Requirements = "collections: [acme.web]" }

// otherImage makes a run use an image without the provider.
func otherImage(r *run) { r.todo.Inputs.Execution.Image = "ee:1" }

// template sets the podTemplate of the configuration.
func template(text string) func(*run) {
	return func(r *run) { r.todo.Inputs.Execution.PodTemplate = raw(text) }
}

// brings adds an init container that copies the provider, with the attributes of the container of the run.
func brings(p *corev1.Pod) {
	c := &p.Spec.Containers[0]
	c.Image, c.Command = "ee:1", []string{binary}
	p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{
		Name: containerCopy, Image: image, Command: []string{"install", "-D", "--mode=755", "/usr/local/bin/provider-ansible", binary},
		SecurityContext: c.SecurityContext, VolumeMounts: c.VolumeMounts[:2], Resources: c.Resources,
	})
}

// installs adds the init container that installs content: a copy of the container of the run that can write content.
func installs(p *corev1.Pod) {
	mount := corev1.VolumeMount{Name: "ansible-content", MountPath: "/ansible-content", ReadOnly: true}
	volume := corev1.Volume{Name: mount.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}

	c := &p.Spec.Containers[0]
	c.Args, c.VolumeMounts = append(c.Args, "--content=/ansible-content"), append(c.VolumeMounts, mount)
	p.Spec.Volumes = append(p.Spec.Volumes, volume)

	before := *c.DeepCopy()
	before.Name, before.Args = containerInstall, append(before.Args, "--install")
	before.VolumeMounts[len(before.VolumeMounts)-1].ReadOnly = false
	p.Spec.InitContainers = append(p.Spec.InitContainers, before)
}

// TestPod compares Pods with the Pod of a run that has only an inline playbook.
func TestPod(t *testing.T) {
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: quantity("128Mi")}}
	config := &metav1.OwnerReference{Kind: "ClusterProviderConfig", Name: "c", UID: "c", Controller: new(true)}
	secrets := func(names ...string) (all []corev1.LocalObjectReference) {
		for _, n := range names {
			all = append(all, corev1.LocalObjectReference{Name: n})
		}

		return all
	}
	claim := func(r *run) {
		requiring(r)
		r.todo.Inputs.Execution.ContentVolumeClaim = "content"
	}
	// claimed makes a Pod install content on a claim.
	claimed := func(p *corev1.Pod) {
		installs(p)

		dir := onCluster(t)
		for _, c := range []*corev1.Container{&p.Spec.Containers[0], &p.Spec.InitContainers[0]} {
			c.VolumeMounts[len(c.VolumeMounts)-1].SubPath = "ansible-content/" + dir.contentDir(dir.todo)
		}

		p.Spec.Volumes[3].VolumeSource = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "content"}}
		p.Spec.SecurityContext.FSGroup = new(int64(group))
		p.Spec.SecurityContext.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
	}
	env := func(all map[string]string) (vars []corev1.EnvVar) {
		for name, value := range all {
			vars = append(vars, corev1.EnvVar{Name: name, Value: value})
		}

		return vars
	}
	nothing := func(*corev1.Pod) {}

	if dir := podOf(t, onCluster(t)).Spec.Containers[0].WorkingDir; dir != dirWork {
		t.Errorf("The working directory should be accessible to the user of any image, got %q", dir)
	}

	for name, tc := range map[string]struct {
		reason string
		change func(r *run)
		own    Own
		want   func(p *corev1.Pod)
	}{
		"Command": {
			reason: "A template cannot replace the program of the run and its arguments.",
			change: template(`{"spec":{"restartPolicy":"Always","automountServiceAccountToken":true,"containers":[{"name":"run","image":"x","workingDir":"/x","command":["sh"],"args":["-c"],"env":[{"name":"HOME","value":"/x"}]}]}}`),
			want:   nothing,
		},
		"Restarts": {
			reason: "A template cannot restart the container of a run.",
			change: template(`{"spec":{"containers":[{"name":"run","restartPolicy":"OnFailure","restartPolicyRules":[{"action":"Restart"}]}]}}`),
			want:   nothing,
		},
		"Payload": {
			reason: "A template cannot replace the inputs of a run, or their mount.",
			change: template(`{"spec":{"serviceAccountName":"","volumes":[{"name":"ansible-run","projected":{"sources":[{"secret":{"name":"other"}}]}}],"containers":[{"name":"run","volumeMounts":[{"name":"other","mountPath":"/var/run/secrets/ansible.crossplane.io/run"}]}]}}`),
			want:   nothing,
		},
		"Labels": {
			reason: "A template cannot set the labels of another run.",
			change: func(r *run) {
				template(`{"metadata":{"labels":{"ansible.crossplane.io/uid":"another"}}}`)(r)
				r.todo.Inputs.Execution.Labels = map[string]string{labelRun: "another", "a": "b"}
			},
			want: func(p *corev1.Pod) { p.Labels["a"] = "b" },
		},
		"Directives": {
			reason: "Keys cannot act as directives of a patch. The API server refuses them.",
			change: func(r *run) {
				r.config.Template = []byte(`{"metadata":{"labels":{"a":"all"}},"spec":{"nodeSelector":{"a":"all"}}}`)
				e, patch := &r.todo.Inputs.Execution, map[string]string{"$patch": "delete"}
				e.Labels, e.Annotations, e.NodeSelector = patch, patch, patch
			},
			want: func(p *corev1.Pod) {
				p.Labels["a"], p.Labels["$patch"], p.Annotations["$patch"] = "all", "delete", "delete"
				p.Spec.NodeSelector = map[string]string{"a": "all", "$patch": "delete"}
			},
		},
		"Volume": {
			reason: "A template may limit the size of the provider's volumes.",
			change: template(`{"spec":{"volumes":[{"name":"ansible","emptyDir":{"sizeLimit":"1Gi"}}]}}`),
			want:   func(p *corev1.Pod) { p.Spec.Volumes[0].EmptyDir.SizeLimit = new(quantity("1Gi")) },
		},
		"All": {
			reason: "The template of the configuration overrides the template of all Pods, and the provider overrides both.",
			change: func(r *run) {
				r.config.Template = []byte(`{"metadata":{"labels":{"a":"all","b":"all"}},"spec":{"runtimeClassName":"all","priorityClassName":"all","containers":[{"name":"run","args":["-c"]}]}}`)
				template(`{"metadata":{"labels":{"b":"one"}},"spec":{"priorityClassName":"one"}}`)(r)
			},
			want: func(p *corev1.Pod) {
				p.Labels["a"], p.Labels["b"] = "all", "one"
				p.Spec.RuntimeClassName, p.Spec.PriorityClassName = new("all"), "one"
			},
		},
		"Env": {
			reason: "Templates can override proxies of the provider, but not HOME.",
			change: func(r *run) {
				r.config.Env = env(map[string]string{"HTTPS_PROXY": "provider", "NO_PROXY": "provider", "http_proxy": "provider", "TZ": "provider"})
				r.config.Template = []byte(`{"spec":{"containers":[{"name":"run","env":[{"name":"HTTPS_PROXY","value":"flag"},{"name":"NO_PROXY","value":"flag"}]}]}}`)
				template(`{"spec":{"containers":[{"name":"run","env":[{"name":"NO_PROXY","value":"configuration"},{"name":"http_proxy","value":""},{"name":"HOME","value":"/"}]}]}}`)(r)
			},
			want: func(p *corev1.Pod) {
				p.Spec.Containers[0].Env = env(map[string]string{"HTTPS_PROXY": "flag", "NO_PROXY": "configuration", "http_proxy": "", "TZ": "provider", "HOME": "/ansible/home"})
			},
		},
		"Mounts": {
			reason: "Content may use mounts of templates, except mounts in directories of the provider and of service accounts.",
			change: template(`{"spec":{"containers":[{"name":"run","volumeMounts":[{"name":"a","mountPath":"/tmp/data"},{"name":"b","mountPath":"/etc/corp","readOnly":true},` +
				`{"name":"c","mountPath":"/ansible/home"},{"name":"d","mountPath":"/var/run"},{"name":"e","mountPath":"/run/secrets/token"},{"name":"f","mountPath":"/ansible2/"}]}]}}`),
			want: func(p *corev1.Pod) {
				c := &p.Spec.Containers[0]
				c.Args = append(c.Args, "--write-path=/tmp/data", "--read-path=/etc/corp", "--write-path=/ansible2/")
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "a", MountPath: "/tmp/data"}, corev1.VolumeMount{Name: "b", MountPath: "/etc/corp", ReadOnly: true},
					corev1.VolumeMount{Name: "c", MountPath: "/ansible/home"}, corev1.VolumeMount{Name: "d", MountPath: "/var/run"},
					corev1.VolumeMount{Name: "e", MountPath: "/run/secrets/token"}, corev1.VolumeMount{Name: "f", MountPath: "/ansible2/"})
			},
		},
		"PullSecrets": {
			reason: "Pods in the namespace of the provider have its pull secrets.",
			change: func(r *run) { r.todo.Inputs.Execution.ImagePullSecrets = secrets("both") },
			own:    Own{Namespace: "ns", PullSecrets: secrets("both", "provider")},
			want:   func(p *corev1.Pod) { p.Spec.ImagePullSecrets = secrets("both", "provider") },
		},
		"PullSecretsElsewhere": {
			reason: "Pods in other namespaces do not have the pull secrets of the provider.",
			change: func(r *run) { r.todo.Inputs.Execution.ImagePullSecrets = secrets("both") },
			own:    Own{Namespace: "system", PullSecrets: secrets("provider")},
			want:   func(p *corev1.Pod) { p.Spec.ImagePullSecrets = secrets("both") },
		},
		"OwnerOfCluster": {
			reason: "A cluster scoped AnsibleRun owns its Pods. Drains and policies refuse unmanaged Pods.",
			change: func(r *run) { r.todo.Object.Namespace = "" },
			want:   func(p *corev1.Pod) { p.Annotations[annotationNamespace] = "" },
		},
		"OwnerElsewhere": {
			reason: "A cluster scoped configuration owns a Pod in another namespace than that of its AnsibleRun.",
			change: func(r *run) { r.todo.Object.Namespace, r.todo.Inputs.Owner = "team", config },
			want: func(p *corev1.Pod) {
				p.Annotations[annotationNamespace], p.OwnerReferences = "team", []metav1.OwnerReference{*config}
			},
		},
		"Content": {
			reason: "Content is installed in a container of its own, so that the play cannot write to it.",
			change: requiring,
			want:   installs,
		},
		"ContentOfImage": {
			reason: "A run with the content of its image needs no installation.",
			change: func(r *run) { requiring(r); r.todo.Inputs.Execution.Content = common.ContentImage },
			want:   nothing,
		},
		"Claim": {
			reason: "Each configuration has a directory of its own on a claim.",
			change: claim,
			want:   claimed,
		},
		"NoGroup": {
			reason: "A template can remove the fsGroup: OpenShift accepts only its own.",
			change: func(r *run) { claim(r); template(`{"spec":{"securityContext":{"fsGroup":null}}}`)(r) },
			want:   func(p *corev1.Pod) { claimed(p); p.Spec.SecurityContext.FSGroup = nil },
		},
		"OtherImage": {
			reason: "An init container copies the provider for an image without it.",
			change: func(r *run) { requiring(r); otherImage(r) },
			want:   func(p *corev1.Pod) { brings(p); installs(p) },
		},
		"Installation": {
			reason: "The container that installs has the additions of a template, except fields that an init container must not have.",
			change: func(r *run) {
				requiring(r)
				template(`{"spec":{"initContainers":[{"name":"first"}],"containers":[{"name":"run",
					"volumeMounts":[{"name":"ca","mountPath":"/var/run/secrets/ca"}],"lifecycle":{"preStop":{"sleep":{"seconds":1}}},"livenessProbe":{"exec":{"command":["true"]}}}]}}`)(r)
			},
			want: func(p *corev1.Pod) {
				installs(p)

				first := corev1.Container{Name: "first"}
				p.Spec.InitContainers = []corev1.Container{first, p.Spec.InitContainers[0]}

				for _, c := range []*corev1.Container{&p.Spec.Containers[0], &p.Spec.InitContainers[1]} {
					c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "ca", MountPath: "/var/run/secrets/ca"})
				}

				c := &p.Spec.Containers[0]
				c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}}
				c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
			},
		},
		// A quota or a LimitRange that accepts the container of the run accepts the other containers as well. A limit below
		// the default request is used without that request: otherwise the API server would refuse the Pod.
		"Resources": {
			reason: "All containers that the provider adds have the resources of the configuration.",
			change: func(r *run) { requiring(r); otherImage(r); r.todo.Inputs.Execution.Resources = &limited },
			want:   func(p *corev1.Pod) { p.Spec.Containers[0].Resources = limited; brings(p); installs(p) },
		},
		"ResourcesOfTemplate": {
			reason: "All containers that the provider adds have the resources of a template.",
			change: func(r *run) {
				requiring(r)
				otherImage(r)
				template(`{"spec":{"containers":[{"name":"run","resources":{"limits":{"memory":"128Mi"}}}]}}`)(r)
			},
			want: func(p *corev1.Pod) { p.Spec.Containers[0].Resources = limited; brings(p); installs(p) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := podOf(t, onCluster(t))
			tc.want(want)

			r := onCluster(t)
			tc.change(r)

			tc.own.Image = image

			got, err := r.newPod(r.todo, tc.own, 1)
			if err != nil {
				t.Fatal(err)
			}

			got.UID = want.UID

			byName := cmpopts.SortSlices(func(a, b corev1.EnvVar) bool { return a.Name < b.Name })
			if diff := cmp.Diff(want, got, byName); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestContentDir separates the content of tenants and configurations on one claim.
func TestContentDir(t *testing.T) {
	dirs := map[string]bool{}

	for _, change := range []func(*run){
		func(*run) {},
		func(r *run) { r.todo.Object.Namespace = "another" },
		func(r *run) { r.todo.Inputs.Config = "another" },
	} {
		r := onCluster(t)
		change(r)
		dirs[r.contentDir(r.todo)] = true
	}

	if len(dirs) != 3 {
		t.Errorf("Each tenant and configuration should have a directory of its own: %v", dirs)
	}
}
