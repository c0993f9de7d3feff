package e2e

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// token that the servers want, as a token and as a password.
const token = "t0ken-of-the-servers"

// sourceData is what the manifests of a run and its configuration are templates for, with credentials by their filenames.
type sourceData struct {
	Namespace, Directory, Requirements, Roles string

	Credentials, Vars map[string]string
}

// sourceManifests have the Secret, the configuration and the run, in this order.
const sourceManifests = `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: content}
stringData:
[[- range $name, $text := .Credentials]]
  [[$name]]: [[printf "%q" $text]]
[[- end]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: content}
spec:
  requirements: [[printf "%q" .Requirements]]
  credentials:
[[- range $name, $text := .Credentials]]
  - {filename: [[$name]], source: Secret, secretRef: {name: content, key: [[$name]]}}
[[- end]]
  vars:
    ANSIBLE_GALAXY_DISPLAY_PROGRESS: "0"
[[- range $name, $value := .Vars]]
    [[$name]]: [[$value]]
[[- end]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  providerConfigRef: {kind: ProviderConfig, name: content}
  forProvider:
    roles: [[.Roles]]
    vars: {directory: "[[.Directory]]"}
`

// TestContentSources has one configuration install from a private Galaxy server, a private repository over https, and one
// over ssh, with credentials from a Secret. A mistaken credential is told, and is corrected.
func TestContentSources(t *testing.T) {
	t.Parallel()

	ca, err := certs.New("Test authority")
	needs.OK(t, err)

	private := sources.Options{Host: host(), CA: ca, Auth: sources.Auth{User: "deploy", Password: token, Token: token}}
	hub := sources.NewGalaxy(t)

	for _, version := range []string{"1.0.0", "1.4.0", "2.0.0"} {
		c := site()
		c.Version = version
		hub.Publish(t, c.Tarball(t))
	}

	root := directory(t)

	for _, name := range []string{"https", "ssh"} {
		dir := filepath.Join(root, name+".git")
		needs.Write(t, dir, map[string]string{
			"meta/main.yml":  "galaxy_info: {author: The tests, description: A role, license: Apache-2.0, min_ansible_version: '2.14'}\n",
			"tasks/main.yml": "- ansible.builtin.shell: echo " + name + " >> {{ directory }}/ledger\n",
		})
		sources.Commit(t, dir, "v3")
	}

	galaxy, git := sources.Start(t, hub, private), sources.Start(t, sources.Git(t, root), private)
	ssh := sshd.Start(t, t.TempDir(), sshd.Options{Command: sources.GitCommand, Host: host()})

	config := "[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = " + galaxy.URL + "/\ntoken = "
	d := sourceData{
		Namespace: cp.Namespace(t), Directory: directory(t),
		Requirements: "collections: [{name: acme.site, version: '>=1.0.0,<2.0.0'}]\n" +
			"roles:\n- {name: https, src: '" + git.URL + "/https.git', version: v3}\n" +
			"- {name: ssh, src: 'ssh://" + ssh.User + "@" + net.JoinHostPort(ssh.Host, strconv.Itoa(ssh.Port)) + root + "/ssh.git', scm: git, version: v3}\n",
		Credentials: map[string]string{
			"ansible.cfg": config + "n0nsense-token\n", "ca.crt": string(ca.PEM),
			".git-credentials": strings.Replace(git.URL, "://", "://deploy:"+token+"@", 1) + "\n",
			"id_ed25519":       string(ssh.Key), "known_hosts": ssh.KnownHosts(),
		},
		Vars:  map[string]string{"SSL_CERT_FILE": "ca.crt"},
		Roles: "[acme.site.first, https, ssh]",
	}
	run := cp.Apply(t, sourceManifests, d)[2]
	cp.WaitFor(t, run, Condition("Synced", "False"), Field("status.atProvider.lastRun.phase", "Failed"),
		Message("Synced", "from hub ("), Message("Synced", "(HTTP Code: 401"), Message("Synced", "check the token"), Message("Synced", "in the credential ansible.cfg"))

	if text := cp.YAML(t.Context(), run); strings.Contains(text, "n0nsense") {
		t.Errorf("No secret should be on the object:\n%s", text)
	}

	d.Credentials["ansible.cfg"] = config + token + "\n"
	cp.Apply(t, sourceManifests, d)
	u := cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"))

	if got, want := versions(u, "collections")+versions(u, "roles"), " acme.site=1.4.0 https=v3 ssh=v3"; got != want {
		t.Errorf("The status should say what was installed: want %q, got %q", want, got)
	}

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "first\nhttps\nssh\n" {
		t.Errorf("The roles should have run in their order, got %q", got)
	}
}

// versions of the content of a run, by name.
func versions(u *unstructured.Unstructured, kind string) (out string) {
	items, _ := Value(u, "status.atProvider.content."+kind).([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		out += fmt.Sprintf(" %v=%v", m["name"], m["version"])
	}

	return out
}

// served is the URL of a server without authentication.
func served(t *testing.T, h http.Handler) string {
	t.Helper()
	return sources.Start(t, h, sources.Options{Host: host()}).URL
}
