package install

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// mirror has Crossplane look for the packages of the documentation in the registry
// of the tests.
const mirror = `
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata: {name: mirror}
spec:
  matchImages: [{type: Prefix, prefix: registry.example.org}]
  rewriteImage: {prefix: %s}
`

// install both packages as the documentation says, if they are not there yet.
func install(t *testing.T) {
	t.Helper()
	explainFailure(t)
	if installed {
		return
	}
	for _, program := range []string{"function-ansible", "provider-ansible"} {
		publish(t, program, "v0.1.0")
	}
	apply(t, strings.ReplaceAll(mirror, "%s", warehouse)+"---\n"+example(t, "install.yaml"))
	cp.WaitFor(t, object("pkg.crossplane.io/v1", "Function", "", "function-ansible"), Condition("Installed", "True"), Condition("Healthy", "True"))
	cp.WaitFor(t, object("pkg.crossplane.io/v1", "Provider", "", "provider-ansible"), Condition("Installed", "True"), Condition("Healthy", "True"))

	installed = true
}

// installConfiguration that depends on both packages.
func installConfiguration(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "configuration.xpkg")
	crank(t, "xpkg", "build", "--package-root="+filepath.Join(root, "examples", "configuration"), "--package-file="+file, "--examples-root="+t.TempDir())
	push(t, file, organisation+"/configuration-ansible", "v0.1.0")
	apply(t, `
apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata: {name: configuration-ansible}
spec: {package: "registry.example.org/crossplane-ansible/configuration-ansible:v0.1.0"}
`)
	cp.WaitFor(t, object("pkg.crossplane.io/v1", "Configuration", "", "configuration-ansible"), Condition("Installed", "True"), Condition("Healthy", "True"))
}

// TestInstall takes an XR to Ready and away again, with all that a default
// installation has, and nothing else.
func TestInstall(t *testing.T) {
	install(t)
	// Before v2.1 no Configuration has what the example has.
	if controlplane.Since("v2.1") {
		installConfiguration(t)
	}
	if l := cp.Kubectl(t, "get", "providers.pkg,functions.pkg", "-o", "name"); strings.Count(l, "ansible") != 2 {
		t.Errorf("want the packages that were there before the Configuration alone, got\n%s", l)
	}
	for _, kind := range []string{"ansibleruns.ansible.crossplane.io", "ansibleruns.ansible.m.crossplane.io"} {
		mrd := object("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "", kind)
		if got := Value(cp.WaitFor(t, mrd, Condition("Established", "True")), "spec.state"); got != "Active" {
			t.Errorf("%s: want state Active, got %v", kind, got)
		}
	}

	for _, f := range []string{"xrd.yaml", "composition.yaml", "providerconfig.yaml"} {
		apply(t, example(t, "banner/"+f))
	}
	cp.WaitFor(t, object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "", "banners.example.org"), Condition("Established", "True"))
	apply(t, example(t, "banner/xr.yaml"))
	xr := object("example.org/v1", "Banner", "", "hello")
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("Synced", "True"))
	cp.Kubectl(t, "delete", "banner.example.org", "hello", "--cascade=foreground", "--wait=false")
	cp.WaitGone(t, xr)

	for _, p := range podsOf(t, "") {
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s: want no restarts, got %d: %v", p.Name, c.RestartCount, c.LastTerminationState)
			}
		}
	}
}

// unknown is a user that no image knows, as OpenShift chooses one.
const unknown = 1000680000

// keeping leaves what the runs have made when their AnsibleRun is deleted.
const keeping = "managementPolicies: [Observe, Create, Update]"

// runOf is an AnsibleRun with tasks, and a configuration of its own. The settings are further fields of their specs.
func runOf(name, ofConfig, ofRun, tasks string) string {
	return fmt.Sprintf(`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: %[1]s}
spec: {%[2]s}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: default, name: %[1]s, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  %[3]s
  providerConfigRef: {kind: ClusterProviderConfig, name: %[1]s}
  forProvider:
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks: %[4]s
---
`, name, ofConfig, ofRun, tasks)
}

// asUnknown are tasks that check their user, use ssh, and write into its home directory.
const asUnknown = `
        - ansible.builtin.setup:
        - ansible.builtin.assert:
            that: [ansible_facts.effective_user_id == %d, ansible_facts.effective_group_id == 0]
        - ansible.builtin.command: ssh -F none -p 1 -o BatchMode=yes 127.0.0.1
          register: ssh
          failed_when: "'Connection refused' not in ssh.stderr"
        - ansible.builtin.copy: {content: hello, dest: ~/hello}
        # In a Pod it is that of the image.
        - ansible.builtin.stat: {path: /home/ansible}
          register: home
          failed_when: home.stat.gid != 0 or not home.stat.wgrp
`

// TestUnknownUser has Pods run as OpenShift does with the SecurityContextConstraints restricted-v2.
func TestUnknownUser(t *testing.T) {
	install(t)
	// What these put into Pods that name no user.
	user := fmt.Sprintf("runAsUser: %d", unknown)
	apply(t, strings.ReplaceAll(example(t, "install.yaml"), "securityContext: {", "securityContext: {"+user+", "))
	for _, name := range []string{"function-ansible", "provider-ansible"} {
		Eventually(t, name+" as another user", func() bool {
			pods := podsOf(t, name)
			if len(pods) != 1 {
				return false
			}
			got := pods[0].Spec.SecurityContext.RunAsUser
			return got != nil && *got == unknown
		})
	}
	cp.WaitFor(t, object("pkg.crossplane.io/v1", "Function", "", "function-ansible"), Condition("Healthy", "True"))

	allowPods(t)
	places := map[string]string{
		"provider": "place: Provider",
		"pod":      "place: Pod, podTemplate: {spec: {securityContext: {" + user + "}}}",
	}
	for place, execution := range places {
		apply(t, runOf("unknown-"+place, "execution: {"+execution+"}", keeping, fmt.Sprintf(asUnknown, unknown)))
	}
	for place := range places {
		cp.WaitFor(t, object("ansible.m.crossplane.io/v1alpha1", "AnsibleRun", "default", "unknown-"+place), Condition("Ready", "True"), Condition("Synced", "True"))
	}
}

// allowPods of runs in Crossplane's namespace, as the documentation says.
func allowPods(t *testing.T) {
	t.Helper()
	apply(t, example(t, "operations/pods.yaml")+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: crossplane-system, name: provider-ansible-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: provider-ansible-pods}
subjects: [{kind: ServiceAccount, namespace: crossplane-system, name: provider-ansible}]
`)
}
