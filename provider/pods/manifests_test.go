package pods

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// requiring is a run with content to install.
func requiring(t *testing.T, change ...func(*runs.Run)) *run {
	t.Helper()

	r := onCluster(t)
	r.todo.Inputs.Requirements = "collections: [acme.web]"

	for _, fn := range change {
		fn(&r.todo)
	}

	return r
}

// TestInstaller installs content in a container of its own, so that the play cannot write to it.
func TestInstaller(t *testing.T) {
	mount := func(readOnly bool, subPath string) []corev1.VolumeMount {
		return []corev1.VolumeMount{{Name: "ansible-content", MountPath: "/ansible-content", ReadOnly: readOnly, SubPath: subPath}}
	}

	claimed := requiring(t)
	sub := "ansible-content/" + claimed.contentDir(claimed.todo)

	for name, tc := range map[string]struct {
		reason     string
		change     func(*runs.Run)
		containers []string
		install    []corev1.VolumeMount
		run        []corev1.VolumeMount
		claim      string
		noGroup    bool
	}{
		"Nothing": {
			reason: "A run without requirements needs no installation.",
			change: func(j *runs.Run) { j.Inputs.Requirements = "" },
		},
		"Image": {
			reason: "Nor does one whose image brings the content.",
			change: func(j *runs.Run) { j.Inputs.Execution.Content = common.ContentImage },
		},
		"Pod": {
			reason:     "What a Pod installs is in the Pod.",
			change:     func(*runs.Run) {},
			containers: []string{containerInstall},
			install:    mount(false, ""),
			run:        mount(true, ""),
		},
		"Claim": {
			reason:     "On a claim each configuration has a directory of its own.",
			change:     func(j *runs.Run) { j.Inputs.Execution.ContentVolumeClaim = "content" },
			containers: []string{containerInstall},
			install:    mount(false, sub),
			run:        mount(true, sub),
			claim:      "content",
		},
		"NoGroup": {
			reason: "A template leaves the group of the files to the cluster: OpenShift refuses any but its own.",
			change: func(j *runs.Run) {
				j.Inputs.Execution.ContentVolumeClaim = "content"
				j.Inputs.Execution.PodTemplate = &apiextensionsv1.JSON{Raw: []byte(`{"spec":{"securityContext":{"fsGroup":null}}}`)}
			},
			containers: []string{containerInstall},
			install:    mount(false, sub),
			run:        mount(true, sub),
			claim:      "content",
			noGroup:    true,
		},
		"OtherImage": {
			reason:     "An image without the provider gets it first.",
			change:     func(j *runs.Run) { j.Inputs.Execution.Image = "ee:1" },
			containers: []string{containerCopy, containerInstall},
			install:    mount(false, ""),
			run:        mount(true, ""),
		},
		"Template": {
			reason: "The installation has what a template adds to the run, except what such a container may not have.",
			change: func(j *runs.Run) {
				j.Inputs.Execution.PodTemplate = &apiextensionsv1.JSON{Raw: []byte(`{"spec":{"initContainers":[{"name":"first"}],"containers":[{"name":"run",
					"volumeMounts":[{"name":"ca","mountPath":"/ca"}],"lifecycle":{"preStop":{"sleep":{"seconds":1}}},"livenessProbe":{"exec":{"command":["true"]}}}]}}`)}
			},
			containers: []string{"first", containerInstall},
			install:    append(mount(false, ""), corev1.VolumeMount{Name: "ca", MountPath: "/ca"}),
			run:        append(mount(true, ""), corev1.VolumeMount{Name: "ca", MountPath: "/ca"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := podOf(t, requiring(t, tc.change)).Spec

			var (
				containers []string
				install    []corev1.VolumeMount
			)

			own := func(c corev1.Container) []corev1.VolumeMount {
				return slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name != "ansible-content" && m.Name != "ca" })
			}

			if slices.ContainsFunc(spec.Containers[0].Args, func(arg string) bool { return strings.HasSuffix(arg, "-path=/ansible-content") }) {
				t.Errorf("\n%s\nA run should read its own set only: %v", tc.reason, spec.Containers[0].Args)
			}

			for _, c := range spec.InitContainers {
				containers = append(containers, c.Name)

				if c.Name == containerInstall {
					install = own(c)

					if c.Args[len(c.Args)-1] != "--install" || c.Lifecycle != nil || c.LivenessProbe != nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
						t.Errorf("\n%s\nthe container is %+v", tc.reason, c)
					}
				}
			}

			if diff := cmp.Diff(tc.containers, containers); diff != "" {
				t.Errorf("\n%s\n-want containers, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.install, install); diff != "" {
				t.Errorf("\n%s\n-want mounts of the installation, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.run, own(spec.Containers[0]), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\n-want mounts of the run, +got:\n%s", tc.reason, diff)
			}

			claim := ""

			for _, v := range spec.Volumes {
				if v.PersistentVolumeClaim != nil {
					claim = v.PersistentVolumeClaim.ClaimName
				}
			}

			if claim != tc.claim || (spec.SecurityContext.FSGroup != nil) != (tc.claim != "" && !tc.noGroup) {
				t.Errorf("\n%s\nwant claim %q, got %q, with the group %v", tc.reason, tc.claim, claim, spec.SecurityContext.FSGroup)
			}
		})
	}
}

// TestResources gives all containers that the provider adds to a Pod what its run has: a quota or a LimitRange of the
// namespace that the run meets refuses no Pod then. A limit below the default request stands alone: with that request
// the API server would refuse it.
func TestResources(t *testing.T) {
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: quantity("128Mi")}}

	for name, tc := range map[string]struct {
		reason    string
		execution common.Execution
		want      corev1.ResourceRequirements
	}{
		"Default":       {reason: "Without resources there are defaults.", want: defaultResources()},
		"Configuration": {reason: "The configuration has its resources.", execution: common.Execution{Resources: &limited}, want: limited},
		"Template": {
			reason: "Or a template has them.",
			execution: common.Execution{
				PodTemplate: raw(`{"spec":{"containers":[{"name":"run","resources":{"limits":{"memory":"128Mi"}}}]}}`),
			},
			want: limited,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := podOf(t, requiring(t, func(j *runs.Run) {
				e := &j.Inputs.Execution
				e.Image, e.Resources, e.PodTemplate = "ee:1", tc.execution.Resources, tc.execution.PodTemplate
			})).Spec
			want, got := map[string]corev1.ResourceRequirements{}, map[string]corev1.ResourceRequirements{}

			for _, name := range []string{containerCopy, containerInstall, containerRun} {
				want[name] = tc.want
			}

			for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
				got[c.Name] = c.Resources
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("\n%s\n-want resources, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEnv lets templates say how Pods reach the network, but not where their home is.
func TestEnv(t *testing.T) {
	flag := []byte(`{"spec":{"containers":[{"name":"run","env":[{"name":"HTTPS_PROXY","value":"flag"},{"name":"NO_PROXY","value":"flag"}]}]}}`)

	r := requiring(t, func(j *runs.Run) {
		j.Inputs.Execution.PodTemplate = &apiextensionsv1.JSON{Raw: []byte(`{"spec":{"containers":[{"name":"run",
			"env":[{"name":"NO_PROXY","value":"configuration"},{"name":"http_proxy","value":""},{"name":"HOME","value":"/"}]}]}}`)}
	})
	r.config.Template = flag

	for _, name := range []string{"HTTPS_PROXY", "NO_PROXY", "http_proxy", "TZ"} {
		r.config.Env = append(r.config.Env, corev1.EnvVar{Name: name, Value: "provider"})
	}

	want := map[string]string{"HTTPS_PROXY": "flag", "NO_PROXY": "configuration", "http_proxy": "", "TZ": "provider", "HOME": "/ansible/home"}
	spec := podOf(t, r).Spec

	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		got := map[string]string{}
		for _, v := range c.Env {
			got[v.Name] = v.Value
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("container %q: -want variables, +got:\n%s", c.Name, diff)
		}
	}
}

// TestContentDir keeps what tenants and configurations install on one claim apart.
func TestContentDir(t *testing.T) {
	dirs := map[string]bool{}

	for _, change := range []func(*runs.Run){
		func(*runs.Run) {},
		func(j *runs.Run) { j.Object.Namespace = "another" },
		func(j *runs.Run) { j.Inputs.Config = "another" },
	} {
		r := requiring(t, change)
		dirs[r.contentDir(r.todo)] = true
	}

	if len(dirs) != 3 {
		t.Errorf("Each should have a directory of its own: %v", dirs)
	}
}
