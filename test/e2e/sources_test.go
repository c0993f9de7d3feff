package e2e

import (
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// token that the servers want, as a token and as a password.
const token = "t0ken-of-the-servers"

// sourceData is what the manifests of a run and its configuration are templates
// for: in a group, with credentials by their filenames.
type sourceData struct {
	Group, Namespace, Config, Directory string

	Requirements string
	Credentials  map[string]string
	Vars         map[string]string
	Roles        []string
}

// in the place of others.
func (d sourceData) in(o sourceData) sourceData {
	d.Namespace, d.Directory = o.Namespace, o.Directory
	return d
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
apiVersion: [[.Group]]/v1alpha1
kind: [[.Config]]
metadata: {name: [[.Namespace]][[if eq .Config "ProviderConfig"]], namespace: [[.Namespace]][[end]]}
spec:
  requirements: [[printf "%q" .Requirements]]
  credentials:
[[- range $name, $text := .Credentials]]
  - filename: [[$name]]
    source: Secret
    secretRef: {namespace: [[$.Namespace]], name: content, key: [[$name]]}
[[- end]]
  vars:
    ANSIBLE_GALAXY_DISPLAY_PROGRESS: "0"
[[- range $name, $value := .Vars]]
    [[$name]]: [[$value]]
[[- end]]
---
apiVersion: [[.Group]]/v1alpha1
kind: AnsibleRun
metadata: {name: [[.Namespace]], namespace: [[.Namespace]]}
spec:
  providerConfigRef: {kind: [[.Config]], name: [[.Namespace]]}
  forProvider:
    roles: [[range $i, $role := .Roles]][[if $i]], [[else]][ [[end]][[$role]][[end]] ]
    vars: {directory: "[[.Directory]]"}
`

// TestContentSources has content come from a real server of each kind, with
// credentials from a Secret.
func TestContentSources(t *testing.T) {
	t.Parallel()

	ca, err := sources.NewCA()
	must(t, err)

	private := sources.Options{CA: ca, Auth: sources.Auth{User: "deploy", Password: token, Token: token}}
	hub := sources.NewGalaxy()

	for _, version := range []string{"1.0.0", "1.4.0", "2.0.0"} {
		c := site()
		c.Version = version
		must(t, hub.Publish(c.Tarball(t)))
	}

	root := directory(t)
	must(t, os.Rename(strings.TrimPrefix(site().Git(t), "git+file://"), filepath.Join(root, "site.git")))
	writeFiles(t, filepath.Join(root, "third.git"), map[string]string{
		"meta/main.yml":  "galaxy_info: {author: The tests, description: A role, license: Apache-2.0, min_ansible_version: '2.14'}\n",
		"tasks/main.yml": "- ansible.builtin.shell: echo third >> {{ directory }}/ledger\n",
	})
	commit(t, filepath.Join(root, "third.git"), "v3")

	repositories, err := sources.Git(t.Context(), root)
	must(t, err)

	galaxy, git := startSource(t, hub, private), startSource(t, repositories, private)

	ssh, err := sshd.Start(t.Context(), t.TempDir(), sshd.Options{Command: sources.GitCommand, Host: host()})
	must(t, err)
	t.Cleanup(ssh.Stop)

	overSSH := "ssh://" + ssh.User + "@" + net.JoinHostPort(ssh.Host, strconv.Itoa(ssh.Port)) + root
	config := "[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = " + galaxy.URL + "/\ntoken = "
	login := strings.Replace(git.URL, "://", "://deploy:"+token+"@", 1) + "\n"

	type want struct {
		collections, roles map[string]string
		ledger             string
	}

	cases := map[string]struct {
		reason string
		data   sourceData
		want   want
	}{
		"Galaxy": {
			reason: "A range of versions comes from a Galaxy server, with a token of an ansible.cfg.",
			data: sourceData{
				Group: "ansible.m.crossplane.io", Config: "ProviderConfig",
				Requirements: "collections: [{name: acme.site, version: '>=1.0.0,<2.0.0'}]",
				Credentials:  map[string]string{"ansible.cfg": config + token + "\n", "ca.crt": string(ca.PEM)},
				Vars:         map[string]string{"SSL_CERT_FILE": "ca.crt"},
				Roles:        []string{"acme.site.first"},
			},
			want: want{collections: map[string]string{"acme.site": "1.4.0"}, ledger: "first\n"},
		},
		"GitHTTPS": {
			reason: "A private repository is cloned over https, from a server with an authority of its own.",
			data: sourceData{
				Group: "ansible.crossplane.io", Config: "ProviderConfig",
				Requirements: "collections: [{name: " + git.URL + "/site.git, version: 1.0.0}]",
				Credentials:  map[string]string{".git-credentials": login, "ca.crt": string(ca.PEM)},
				Vars:         map[string]string{"SSL_CERT_FILE": "ca.crt"},
				Roles:        []string{"acme.site.second"},
			},
			want: want{collections: map[string]string{"acme.site": "1.0.0"}, ledger: "second\n"},
		},
		"GitSSH": {
			reason: "A private repository is cloned over ssh, with a key, from a host that is known.",
			data: sourceData{
				Group: "ansible.m.crossplane.io", Config: "ClusterProviderConfig",
				Requirements: "roles: [{src: '" + overSSH + "/third.git', version: v3}]",
				Credentials:  map[string]string{"id_ed25519": string(ssh.Key), "known_hosts": ssh.KnownHosts()},
				Roles:        []string{"third"},
			},
			want: want{roles: map[string]string{"third": "v3"}, ledger: "third\n"},
		},
		"RolesAndCollections": {
			reason: "Roles and collections of several sources are in one file.",
			data: sourceData{
				Group: "ansible.m.crossplane.io", Config: "ProviderConfig",
				Requirements: "collections: [acme.site]\nroles: [{src: '" + git.URL + "/third.git', version: v3}]\n",
				Credentials: map[string]string{
					"ansible.cfg": config + token + "\n", ".git-credentials": login, "ca.crt": string(ca.PEM),
				},
				Vars:  map[string]string{"SSL_CERT_FILE": "ca.crt"},
				Roles: []string{"acme.site.first", "third"},
			},
			want: want{
				collections: map[string]string{"acme.site": "2.0.0"}, roles: map[string]string{"third": "v3"}, ledger: "first\nthird\n",
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := tc.data
			d.Namespace, d.Directory = cp.Namespace(t), directory(t)
			run := cp.Apply(t, withoutNamespaces(d), d)[2]
			u := cp.WaitFor(t, run, Condition("Ready", "True"))

			got := want{
				collections: versions(Value(u, "status.atProvider.content.collections")),
				roles:       versions(Value(u, "status.atProvider.content.roles")),
				ledger:      readFile(t, filepath.Join(d.Directory, "ledger")),
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	t.Run("WrongToken", func(t *testing.T) {
		d := cases["Galaxy"].data
		d.Namespace, d.Directory = cp.Namespace(t), directory(t)
		d.Credentials = maps.Clone(d.Credentials)
		d.Credentials["ansible.cfg"] = config + "n0nsense-token\n"

		run := cp.Apply(t, sourceManifests, d)[2]
		u := cp.WaitFor(t, run, Condition("Synced", "False"),
			Message("Synced", "from hub ("+galaxy.URL+"/) (HTTP Code: 401"), Message("Synced", "check the token"), Message("Synced", "in the credential ansible.cfg"))

		if text := cp.YAML(t.Context(), run); strings.Contains(text, "n0nsense") {
			t.Errorf("No secret should be on the object:\n%s", text)
		}
		if phase := Value(u, "status.atProvider.lastRun.phase"); phase != "Failed" {
			t.Errorf("The run should have failed, is %v", phase)
		}

		// An absent run would fail without content, too.
		cp.Apply(t, sourceManifests, cases["Galaxy"].data.in(d))
		cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"))
	})
}

// withoutNamespaces leaves them out of manifests of things that have none, and
// so does it with the kinds of their configurations.
func withoutNamespaces(d sourceData) string {
	if d.Group != "ansible.crossplane.io" {
		return sourceManifests
	}
	m := strings.Replace(sourceManifests, `[[if eq .Config "ProviderConfig"]], namespace: [[.Namespace]][[end]]`, "", 1)
	m = strings.Replace(m, "{name: [[.Namespace]], namespace: [[.Namespace]]}", "{name: [[.Namespace]]}", 1)
	return strings.Replace(m, "{kind: [[.Config]], ", "{", 1)
}

// versions by name, nil for none.
func versions(items any) map[string]string {
	list, _ := items.([]any)
	if len(list) == 0 {
		return nil
	}
	out := map[string]string{}
	for item := range slices.Values(list) {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		out[name], _ = m["version"].(string)
	}
	return out
}

func startSource(t *testing.T, h http.Handler, o sources.Options) *sources.Server {
	t.Helper()
	o.Host = host()
	s, err := sources.Start(t.Context(), h, o)
	must(t, err)
	t.Cleanup(s.Stop)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
