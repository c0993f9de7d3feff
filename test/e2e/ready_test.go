package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// readyCollections are what the examples require, as released by its authors.
var readyCollections = []string{
	"../../.cache/collections/ansible-posix.tar.gz",
	"../../.cache/collections/community-general.tar.gz",
	"../../.cache/collections/community-library_inventory_filtering_v1-1.0.1.tar.gz",
	"../../.cache/collections/community-postgresql.tar.gz",
}

// A readyAPI is an example that is ready to use. Its hosts are machines of the test.
type readyAPI struct {
	dir      string
	machines map[string]*sshd.Machine
	replace  *strings.Replacer
}

// newReadyAPI makes machines for the hosts of an example, all in one network, and installs the API as its page says.
func newReadyAPI(t *testing.T, example, secret string, network int, hosts []string, replace ...string) *readyAPI {
	t.Helper()
	needsProvider(t, "the hosts have addresses that only this machine reaches")
	needs.Root(t, "The hosts of the examples are machines of their own.")
	needs.Built(t, "test-e2e", readyCollections...)

	namespace, keys, known := cp.Namespace(t), t.TempDir(), ""
	a := &readyAPI{dir: filepath.Join("../../examples", example), machines: map[string]*sshd.Machine{}}
	replace = append(replace, "crossplane-system", namespace, "vars: {ANSIBLE_PRIVATE_KEY_FILE: ",
		"vars: {ANSIBLE_GALAXY_SERVER: "+served(t, sources.NewGalaxy(t, readyCollections...))+", ANSIBLE_PRIVATE_KEY_FILE: ")

	var s *sshd.Server
	for i, name := range hosts {
		o := sshd.Options{Machine: true, Host: fmt.Sprintf("198.18.%d.%d", network, i+2)}
		if s != nil {
			o.Port = s.Port
		}

		s = sshd.Start(t, keys, o)
		a.machines[name] = s.Machine
		known += s.KnownHosts()
		replace = append(replace, name, s.Host)
	}

	a.replace = strings.NewReplacer(append(replace, "ansible_user: root}", fmt.Sprintf("ansible_user: root, ansible_port: %d}", s.Port),
		"\n  packages:", fmt.Sprintf("\n  port: %d\n  packages:", s.Port))...)
	needs.OK(t, os.WriteFile(filepath.Join(keys, "known_hosts"), []byte(known), 0o600))
	cp.Kubectl(t, "create", "secret", "generic", secret, "--namespace="+namespace, "--from-file=id_ed25519="+s.KeyFile(), "--from-file="+filepath.Join(keys, "known_hosts"))
	cp.Apply(t, a.read(t, "xrd.yaml", "composition.yaml", "providerconfig.yaml"), nil)

	return a
}

// read files of the example.
func (a *readyAPI) read(t *testing.T, files ...string) string {
	t.Helper()

	var all []string
	for _, f := range files {
		all = append(all, readFile(t, filepath.Join(a.dir, f)))
	}

	return a.replace.Replace(strings.Join(all, "\n---\n"))
}

// apply the XR of the example, with other values, and return it.
func (a *readyAPI) apply(t *testing.T, replace ...string) Object {
	t.Helper()
	objects := cp.Apply(t, strings.NewReplacer(replace...).Replace(a.read(t, "xr.yaml")), nil)

	return objects[len(objects)-1]
}

// run everything once more, as kubectl ansible run does.
func (a *readyAPI) run(t *testing.T, xr Object) {
	t.Helper()
	cp.Kubectl(t, "annotate", "ansibleruns.ansible.m.crossplane.io", "--namespace="+xr.Namespace, "--selector=crossplane.io/composite="+xr.Name,
		"--overwrite", "crossplane.io/reconcile-requested-at="+strconv.FormatInt(time.Now().UnixNano(), 10))
}

// has waits until a file of a host has a text, or is gone where there is none.
func (a *readyAPI) has(t *testing.T, host, file, text string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s has a file %s with %q", host, file, text), func() bool {
		args := a.machines[host].Command("cat", file)
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).Output()
		if text == "" {
			return err != nil
		}
		return strings.Contains(string(out), text)
	})
}

// on a machine, run a command, and return what it prints.
func on(t *testing.T, m *sshd.Machine, args ...string) string {
	t.Helper()
	args = m.Command(args...)
	stderr := &strings.Builder{}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, stderr)
	}
	return strings.TrimSpace(string(out))
}

// isReady waits for the XR with the values that it has now.
func isReady(t *testing.T, xr Object, want ...Expectation) {
	t.Helper()
	cp.WaitFor(t, xr, append(want, Condition("Synced", "True"), Condition("AnsibleRunsReady", "True"), Condition("Ready", "True"))...)
}

// TestLinuxHost applies the example, changes it and then only a key, breaks its host, has it mended, and deletes
// it.
func TestLinuxHost(t *testing.T) {
	t.Parallel()

	const host, settings = "web1.example.org", "/etc/ssh/sshd_config.d/10-linuxhost.conf"
	a := newReadyAPI(t, "linux-host", "linux-hosts", 11, []string{host})

	xr := a.apply(t)
	isReady(t, xr, Field("status.users", []any{"jane", "joe"}))
	a.has(t, host, "/home/jane/.ssh/authorized_keys", "jane@example.org")
	a.has(t, host, "/etc/sudoers.d/linuxhost-jane", "NOPASSWD")
	a.has(t, host, settings, "PasswordAuthentication no")

	a.apply(t, "- name: joe", "- name: ann", "sudo: true", "sudo: false")
	isReady(t, xr, Field("status.users", []any{"ann", "jane"}))
	a.has(t, host, "/etc/sudoers.d/linuxhost-jane", "")
	Eventually(t, "joe is gone", func() bool {
		b, err := os.ReadFile(a.machines[host].Path("/etc/passwd"))
		return err == nil && !strings.Contains(string(b), "joe:") && strings.Contains(string(b), "ann:")
	})

	a.apply(t, "- name: joe", "- name: ann", "sudo: true", "sudo: false", "IL0Zc5vB8", "IL0Zd5vB8")
	a.has(t, host, "/home/jane/.ssh/authorized_keys", "IL0Zd5vB8")
	isReady(t, xr)

	if _, err := os.Stat(settings); err == nil {
		t.Fatal("This machine has the settings, too.")
	}

	needs.OK(t, os.Remove(a.machines[host].Path(settings)))
	a.run(t, xr)
	a.has(t, host, settings, "PasswordAuthentication no")

	cp.Delete(t, xr)
	cp.WaitGone(t, xr)
	a.has(t, host, settings, "")
}

// TestPostgreSQL applies the example with one replica, changes a setting that needs a restart, stops a replica, has it mended, changes
// a password, and deletes all.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()

	// One replica, since all of them are alike, and each takes minutes of a processor. TestPatterns has an order of many.
	hosts := []string{"db1.example.org", "db2.example.org"}
	a := newReadyAPI(t, "postgresql", "postgresql", 12, hosts, ", db3.example.org", "")

	needs.Program(t, "pg_createcluster")
	versions, err := filepath.Glob("/usr/lib/postgresql/*") // Those that the distribution has.
	needs.OK(t, err)
	version := filepath.Base(versions[len(versions)-1])
	settings, socket := "/etc/postgresql/"+version+"/orders/conf.d/crossplane.conf", "/run/postgresql/.s.PGSQL.5432"

	cp.Apply(t, a.read(t, "passwords.yaml"), nil)
	xr := a.apply(t, `version: "17"`, "version: "+strconv.Quote(version))
	isReady(t, xr, That("the replica follows", func(u *unstructured.Unstructured) bool {
		replicas, _ := Value(u, "status.replicas").([]any)
		return len(replicas) == 1
	}))
	query := func(host, q string) string {
		return on(t, a.machines[host], "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
			"psql", "--tuples-only", "--no-align", "--command", q, "app")
	}
	query(hosts[0], "create table orders as select 42 as number")
	Eventually(t, "the replica has the order", func() bool { return query(hosts[1], "select number from orders") == "42" })

	a.apply(t, `version: "17"`, "version: "+strconv.Quote(version)+"\n  maxConnections: 120")
	for _, h := range hosts {
		a.has(t, h, settings, "max_connections = 120")
	}
	isReady(t, xr)

	if got := query(hosts[1], "show max_connections"); got != "120" {
		t.Errorf("The replica has max_connections %q.", got)
	}

	on(t, a.machines[hosts[1]], "pg_ctlcluster", version, "orders", "stop")
	a.run(t, xr)
	Eventually(t, "the replica is back", func() bool {
		_, err := os.Lstat(a.machines[hosts[1]].Path(socket))
		return err == nil
	})
	isReady(t, xr)

	cp.Apply(t, strings.ReplaceAll(a.read(t, "passwords.yaml"), "change-me-too", "changed"), nil)
	login := a.machines[hosts[0]].Command("env", "PGPASSWORD=changed", "psql", "--host=198.18.12.2", "--username=app", "--command=select 1", "app")
	Eventually(t, "the user logs in with the new password", func() bool {
		return exec.CommandContext(t.Context(), login[0], login[1:]...).Run() == nil
	})

	cp.Delete(t, xr)
	cp.WaitGone(t, xr)
	for _, h := range hosts {
		a.has(t, h, settings, "")
	}
}

// TestApplication applies the example, has it serve another release, and one that does not exist, mends that, and
// deletes it.
func TestApplication(t *testing.T) {
	t.Parallel()

	root, page := directory(t), "/srv/application/current/index.html"
	repository := filepath.Join(root, "application.git")
	files := fences.FindAllStringSubmatch(readFile(t, "../../examples/app/README.md"), 4)
	needs.Write(t, repository, map[string]string{
		"deploy.yml": files[0][2], "remove.yml": files[1][2], "requirements.yml": files[2][2], "templates/index.html.j2": files[3][2],
	})
	sources.Commit(t, repository, "v1.0.0", "v1.1.0")

	hosts := []string{"web1.example.org", "web2.example.org"}
	a := newReadyAPI(t, "app", "application", 13, hosts, "https://git.example.org/shop", served(t, sources.Git(t, root)))
	serves := func(release string) Expectation {
		return Field("status.releases", map[string]any{"198.18.13.2": release, "198.18.13.3": release})
	}

	xr := a.apply(t)
	isReady(t, xr, serves("v1.0.0"))
	a.has(t, hosts[1], page, "Open all day")

	a.apply(t, "release: v1.0.0", "release: v1.1.0", "Open all day", "Open all night")
	isReady(t, xr, serves("v1.1.0"))
	a.has(t, hosts[1], page, "Open all night")

	a.apply(t, "release: v1.0.0", "release: main", "Open all day", "Closed")
	cp.WaitFor(t, xr, Condition("AnsibleRunsReady", "False"), Message("AnsibleRunsReady", "v1.*"))

	a.apply(t, "release: v1.0.0", "release: v1.9.9", "Open all day", "Closed")
	cp.WaitFor(t, xr, Condition("AnsibleRunsReady", "False"), Message("AnsibleRunsReady", "v1.9.9"), serves("v1.1.0"))
	a.has(t, hosts[0], page, "Open all night")
	a.has(t, hosts[1], page, "Open all night")

	a.apply(t, "release: v1.0.0", "release: v1.1.0", "Open all day", "Open all night")
	isReady(t, xr, serves("v1.1.0"))

	cp.Delete(t, xr)
	cp.WaitGone(t, xr)
	for _, h := range hosts {
		a.has(t, h, page, "")
	}
}
