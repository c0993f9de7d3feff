package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// names that Crossplane gives to what a Configuration depends on.
const (
	functionName = organisation + "-function-ansible"
	providerName = organisation + "-provider-ansible"
)

// alone has what comes of the Configuration, without it.
const alone = `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: ` + functionName + `}
spec: {package: "registry.example.org/crossplane-ansible/function-ansible:v0.1.0"}
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: {name: ` + providerName + `}
spec: {package: "registry.example.org/crossplane-ansible/provider-ansible:v0.1.0"}
`

// install both packages by a Configuration that depends on them, if they are not
// there yet; before v2.1, which knows no such Configuration, alone.
func install(t *testing.T) {
	t.Helper()
	if cp.installed {
		return
	}
	for _, program := range []string{"function-ansible", "provider-ansible"} {
		publish(t, program, "v0.1.0")
	}
	cp.Apply(t, strings.ReplaceAll(mirror, "%s", warehouse))
	if controlplane.Since("v2.1") {
		file := filepath.Join(t.TempDir(), "configuration.xpkg")
		crank(t, "xpkg", "build", "--package-root="+filepath.Join(root, "examples", "configuration"), "--package-file="+file, "--examples-root="+t.TempDir())
		push(t, file, organisation+"/configuration-ansible", "v0.1.0")
		cp.Apply(t, `
apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata: {name: configuration-ansible}
spec:
  package: registry.example.org/crossplane-ansible/configuration-ansible:v0.1.0
`)
		cp.WaitFor(t, object("pkg.crossplane.io/v1", "Configuration", "", "configuration-ansible"), "Installed=True", "Healthy=True")
	} else {
		cp.Apply(t, alone)
	}
	cp.WaitFor(t, object("pkg.crossplane.io/v1", "Function", "", functionName), "Installed=True", "Healthy=True")
	cp.WaitFor(t, object("pkg.crossplane.io/v1", "Provider", "", providerName), "Installed=True", "Healthy=True")

	cp.installed = true
}

// TestInstall takes an XR to Ready and away again, with all that a default
// installation has, and nothing else.
func TestInstall(t *testing.T) {
	install(t)
	for _, kind := range []string{"ansibleruns.ansible.crossplane.io", "ansibleruns.ansible.m.crossplane.io"} {
		mrd := object("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "", kind)
		cp.WaitFor(t, mrd, "Established=True")
		if got := field(mrd, "spec.state"); got != "Active" {
			t.Errorf("%s: want state Active, got %s", kind, got)
		}
	}

	dir := filepath.Join(root, "examples", "banner")
	for _, f := range []string{"xrd.yaml", "composition.yaml", "providerconfig.yaml"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		cp.Apply(t, strings.ReplaceAll(string(b), "name: function-ansible\n", "name: "+functionName+"\n"))
	}
	cp.WaitFor(t, object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "", "banners.example.org"), "Established=True")
	b, err := os.ReadFile(filepath.Join(dir, "xr.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cp.Apply(t, string(b))
	xr := object("example.org/v1", "Banner", "", "hello")
	cp.WaitFor(t, xr, "Ready=True", "Synced=True")
	cp.Kubectl(t, "", "delete", "banner.example.org", "hello", "--cascade=foreground", "--wait=false")
	cp.WaitGone(t, xr)

	for _, p := range cp.Pods(t, "") {
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s: want no restarts, got %d: %v", p.Name, c.RestartCount, c.LastTerminationState)
			}
		}
	}
}
