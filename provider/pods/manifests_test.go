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

// requiring is a run with content to install.
func requiring(r *run) { r.todo.Inputs.Requirements = "collections: [acme.web]" }

// otherImage is a run in an image that has no provider.
func otherImage(r *run) { r.todo.Inputs.Execution.Image = "ee:1" }

// template of the Pods of a configuration.
func template(text string) func(*run) {
	return func(r *run) { r.todo.Inputs.Execution.PodTemplate = raw(text) }
}

// brings is a Pod whose first container brings the provider, as the one of the run is now but for that.
func brings(p *corev1.Pod) {
	c := &p.Spec.Containers[0]
	c.Image, c.Command = "ee:1", []string{binary}
	p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{
		Name: containerCopy, Image: image, Command: []string{"install", "-D", "--mode=755", "/usr/local/bin/provider-ansible", binary},
		SecurityContext: c.SecurityContext, VolumeMounts: c.VolumeMounts[:2], Resources: c.Resources,
	})
}

// installs is a Pod whose last container before that of the run is like it, but that it writes the content.
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

// TestPod compares Pods with that of a run that has nothing but an inline playbook.
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
	// claimed is a Pod that installs content on a claim.
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
		t.Errorf("The run should begin in a directory that the user of any image may enter, not in %q", dir)
	}

	for name, tc := range map[string]struct {
		reason string
		change func(r *run)
		own    Own
		want   func(p *corev1.Pod)
	}{
		"Command": {
			reason: "A template replaces neither the program of the run nor its arguments.",
			change: template(`{"spec":{"restartPolicy":"Always","automountServiceAccountToken":true,"containers":[{"name":"run","image":"x","workingDir":"/x","command":["sh"],"args":["-c"],"env":[{"name":"HOME","value":"/x"}]}]}}`),
			want:   nothing,
		},
		"Restarts": {
			reason: "A run that has failed does not run again.",
			change: template(`{"spec":{"containers":[{"name":"run","restartPolicy":"OnFailure","restartPolicyRules":[{"action":"Restart"}]}]}}`),
			want:   nothing,
		},
		"Payload": {
			reason: "A template gives a run neither other inputs nor another place for them.",
			change: template(`{"spec":{"serviceAccountName":"","volumes":[{"name":"ansible-run","projected":{"sources":[{"secret":{"name":"other"}}]}}],"containers":[{"name":"run","volumeMounts":[{"name":"other","mountPath":"/var/run/secrets/ansible.crossplane.io/run"}]}]}}`),
			want:   nothing,
		},
		"Labels": {
			reason: "Nor do labels pretend that a Pod is of another run.",
			change: func(r *run) {
				template(`{"metadata":{"labels":{"ansible.crossplane.io/uid":"another"}}}`)(r)
				r.todo.Inputs.Execution.Labels = map[string]string{labelRun: "another", "a": "b"}
			},
			want: func(p *corev1.Pod) { p.Labels["a"] = "b" },
		},
		"Directives": {
			reason: "Nor do keys remove what the provider sets, or what a template does. The API server refuses them.",
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
			reason: "A template may bound the provider's volumes.",
			change: template(`{"spec":{"volumes":[{"name":"ansible","emptyDir":{"sizeLimit":"1Gi"}}]}}`),
			want:   func(p *corev1.Pod) { p.Spec.Volumes[0].EmptyDir.SizeLimit = new(quantity("1Gi")) },
		},
		"All": {
			reason: "The template of all Pods is below that of a configuration, and all that the provider sets.",
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
			reason: "Templates say how Pods reach the network, before the provider does, but not where their home is.",
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
			reason: "Content may use what is mounted for it: not what the provider has for itself, nor a service account.",
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
			reason: "Pods in the provider's namespace pull its image as the provider does.",
			change: func(r *run) { r.todo.Inputs.Execution.ImagePullSecrets = secrets("both") },
			own:    Own{Namespace: "ns", PullSecrets: secrets("both", "provider")},
			want:   func(p *corev1.Pod) { p.Spec.ImagePullSecrets = secrets("both", "provider") },
		},
		"PullSecretsElsewhere": {
			reason: "In other namespaces there are no such Secrets.",
			change: func(r *run) { r.todo.Inputs.Execution.ImagePullSecrets = secrets("both") },
			own:    Own{Namespace: "system", PullSecrets: secrets("provider")},
			want:   func(p *corev1.Pod) { p.Spec.ImagePullSecrets = secrets("both") },
		},
		"OwnerOfCluster": {
			reason: "A cluster scoped AnsibleRun may own Pods, too. Drains and policies refuse those that nothing looks after.",
			change: func(r *run) { r.todo.Object.Namespace = "" },
			want:   func(p *corev1.Pod) { p.Annotations[annotationNamespace] = "" },
		},
		"OwnerElsewhere": {
			reason: "A Pod in another namespace than its AnsibleRun has the configuration as its owner.",
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
			reason: "A run whose image brings the content needs no installation.",
			change: func(r *run) { requiring(r); r.todo.Inputs.Execution.Content = common.ContentImage },
			want:   nothing,
		},
		"Claim": {
			reason: "On a claim each configuration has a directory of its own.",
			change: claim,
			want:   claimed,
		},
		"NoGroup": {
			reason: "A template leaves the group of the files to the cluster: OpenShift refuses any but its own.",
			change: func(r *run) { claim(r); template(`{"spec":{"securityContext":{"fsGroup":null}}}`)(r) },
			want:   func(p *corev1.Pod) { claimed(p); p.Spec.SecurityContext.FSGroup = nil },
		},
		"OtherImage": {
			reason: "An image without the provider gets it first.",
			change: func(r *run) { requiring(r); otherImage(r) },
			want:   func(p *corev1.Pod) { brings(p); installs(p) },
		},
		"Installation": {
			reason: "The installation has what a template adds to the run, except what such a container may not have.",
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
		// A quota or a LimitRange of the namespace that the run meets refuses no Pod then. A limit below the default
		// request stands alone: with that request the API server would refuse it.
		"Resources": {
			reason: "All containers that the provider adds have the resources of the configuration.",
			change: func(r *run) { requiring(r); otherImage(r); r.todo.Inputs.Execution.Resources = &limited },
			want:   func(p *corev1.Pod) { p.Spec.Containers[0].Resources = limited; brings(p); installs(p) },
		},
		"ResourcesOfTemplate": {
			reason: "Or those of a template.",
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

// TestContentDir keeps what tenants and configurations install on one claim apart.
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
		t.Errorf("Each should have a directory of its own: %v", dirs)
	}
}
