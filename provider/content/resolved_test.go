package content

import (
	order "cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// TestInstalledAgain has a server that gets new versions, and loses old ones, after
// content of it was installed with the real ansible-galaxy; then the store is empty.
func TestInstalledAgain(t *testing.T) {
	needs.Ansible(t)

	const (
		pinned   = "{collections: [{name: acme.web, version: 1.0.0}]}"
		floating = "{collections: [acme.web], roles: [acme.motd]}"
		ttl      = time.Hour
	)

	src := t.TempDir()
	archive := func(name, version, more string) string {
		dir := filepath.Join(src, name, version)
		write(t, dir, collectionFiles(name, version))
		write(t, dir, map[string]string{"galaxy.yml": collectionFiles(name, version)["galaxy.yml"] + more})
		command(t, dir, "ansible-galaxy", "collection", "build", "--output-path", src)

		return filepath.Join(src, "acme-"+name+"-"+version+".tar.gz")
	}
	before := []string{archive("web", "1.0.0", "dependencies: {acme.base: '>=1.0.0'}\n"), archive("base", "1.0.0", "")}
	after := []string{archive("web", "1.1.0", "dependencies: {acme.base: '>=1.0.0'}\n"), archive("base", "1.1.0", "")}
	files := serve(t, sources.Files(src), sources.Options{})
	tarball(t, filepath.Join(src, "motd"), roleFiles())

	cases := map[string]struct {
		reason       string
		requirements string
		// later is what is required then, when it is something else.
		later string
		// forget or change what the status says, or let time pass.
		status  func(*common.Content)
		passes  time.Duration
		evicted bool
		// lost is the version of acme.base that the server has no longer.
		lost string
		want string
	}{
		"Pinned":  {reason: "What a pinned collection needs is what it was.", requirements: pinned, want: "acme.base 1.0.0, acme.web 1.0.0"},
		"Evicted": {reason: "Also for those who never had it.", requirements: pinned, evicted: true, status: nothing, want: "acme.base 1.0.0, acme.web 1.0.0"},
		"Unknown": {reason: "Nobody knows what it was.", requirements: pinned, status: nothing, want: "acme.base 1.1.0, acme.web 1.0.0"},
		"OtherRequired": {
			reason: "Other requirements are resolved.", requirements: pinned, later: "{collections: [{name: acme.web, version: 1.0.0}, acme.base]}",
			want: "acme.base 1.1.0, acme.web 1.0.0",
		},
		"Forged": {
			reason: "What no store has said is not believed.", requirements: pinned,
			status: func(c *common.Content) { c.Collections[0].Version = "0.1.0" }, want: "acme.base 1.1.0, acme.web 1.0.0",
		},
		"Floating":    {reason: "What floats does so when it is due.", requirements: floating, passes: ttl / 2, want: "acme.base 1.0.0, acme.web 1.0.0, acme.motd 1.0.0"},
		"FloatingDue": {reason: "And not before.", requirements: floating, passes: ttl, want: "acme.base 1.1.0, acme.web 1.1.0, acme.motd 1.1.0"},
		"Future": {
			reason: "A time to come says nothing.", requirements: floating, passes: ttl / 2,
			status: func(c *common.Content) { c.Resolved = &metav1.Time{Time: time.Now().Add(1000 * ttl)} },
			want:   "acme.base 1.1.0, acme.web 1.1.0, acme.motd 1.1.0",
		},
		"PinnedDue": {reason: "What is pinned is never due.", requirements: pinned, passes: 10 * ttl, want: "acme.base 1.0.0, acme.web 1.0.0"},
		"Lost": {
			reason: "When the source has it no longer, it says so.", requirements: pinned, lost: "1.0.0",
			want: "cannot install collections: Failed to resolve the requested dependencies map. Could not satisfy the following requirements: acme.base:1.0.0 (direct request); " +
				"what was resolved before is installed again exactly: if the source has it no longer, require another version of it in spec.requirements",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			hub := sources.NewGalaxy()
			server := serve(t, hub, sources.Options{})
			hub.PublishRole("acme", "motd", "1.0.0", files.URL+"/motd.tar.gz")

			for _, a := range before {
				must(t, hub.Publish(a))
			}

			now := time.Now()
			clock := withClock(func() time.Time { return now })
			in := inputs.Inputs{Requirements: tc.requirements, Env: map[string]string{"ANSIBLE_GALAXY_SERVER": server.URL}}
			s := newStore(t, t.TempDir(), withTTL(ttl), withMaxSize(1), clock)

			set, release := ensure(t, s, request(t, in))
			release()

			hub.PublishRole("acme", "motd", "1.1.0", files.URL+"/motd.tar.gz")

			for _, a := range after {
				must(t, hub.Publish(a))
			}

			hub.Withdraw("acme", "base", tc.lost)

			now = now.Add(tc.passes)
			in.Requirements = order.Or(tc.later, tc.requirements)

			status := set.Status().DeepCopy()
			if tc.status != nil {
				tc.status(status)
			}

			// Another version of the tools needs another set, not other content.
			if !tc.evicted {
				s = newStore(t, t.TempDir(), withTTL(ttl), withTools("newer"), clock)
			}

			req := request(t, in)
			req.Known = Known(status)

			again, release, err := s.Ensure(t.Context(), req)
			if err == nil {
				release()
			}

			if diff := cmp.Diff(tc.want, saidOf(again, err)); diff != "" {
				t.Errorf("\n%s\nEnsure(...): -want, +got:\n%s", tc.reason, diff)
			}

			// A run that follows knows what this one was told.
			if r := s.Resolution(req); err == nil && tc.want == saidOf(set, nil) && !r.Resolved.Equal(set.Resolved) {
				t.Errorf("\nWhat is installed again was not resolved again.\nResolution(...): %s, want %s", r.Resolved, set.Resolved)
			}
		})
	}
}

func nothing(c *common.Content) { *c = common.Content{} }

// saidOf an installation.
func saidOf(set Set, err error) string {
	if err != nil {
		return err.Error()
	}

	var items []string
	for _, i := range append(set.Collections, set.Roles...) {
		items = append(items, fmt.Sprintf("%s %s", i.Name, i.Version))
	}

	return strings.Join(items, ", ")
}

// TestWanted says what makes something else wanted.
func TestWanted(t *testing.T) {
	of := func(text string, env map[string]string, files ...inputs.File) string {
		return request(t, inputs.Inputs{Requirements: text, Env: env, Credentials: files}).wanted([]byte("key"))
	}
	file := func(data, rotates string) inputs.File {
		return inputs.File{Name: "ansible.cfg", Data: []byte(data), Rotates: rotates}
	}
	was := of("collections: [acme.web]", nil, file("a", ""))

	for name, other := range map[string]string{
		"Requirements": of("collections: [acme.base]", nil, file("a", "")),
		"Env":          of("collections: [acme.web]", map[string]string{"A": "b"}, file("a", "")),
		"Credentials":  of("collections: [acme.web]", nil, file("b", "")),
	} {
		if other == was {
			t.Errorf("\n%s: a change of them resolves the content again.", name)
		}
	}

	if of("collections: [acme.web]", nil, file("a", "secret")) != of("collections: [acme.web]", nil, file("b", "secret")) {
		t.Error("\nA token that rotates changes nothing.")
	}
}
