package content

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// TestMain makes this program ansible-galaxy where it has that name: one that
// installs what it was given.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ansible-galaxy" {
		if err := installGiven(); err != nil {
			panic(err)
		}

		return
	}

	code := m.Run()

	_ = os.RemoveAll(publishedDir)

	os.Exit(code)
}

// given is what a process of an installation finds.
type given struct {
	Argv  []string          `json:"argv"`
	Env   []string          `json:"env"`
	Files map[string][]byte `json:"files"`
}

// installGiven writes what this process was given, and every file of its
// workspace, into what it installs.
func installGiven() error {
	home, err := os.Getwd()
	if err != nil {
		return err
	}

	g := given{Argv: os.Args, Env: os.Environ(), Files: map[string][]byte{}}
	root := filepath.Dir(home)
	dir := filepath.Join(os.Args[len(os.Args)-1], "given")

	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		g.Files[strings.TrimPrefix(name, root+"/")], err = os.ReadFile(name)

		return err
	})
	if err != nil {
		return err
	}

	text, err := json.Marshal(g)
	if err != nil {
		return err
	}

	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(dir, "given.json"), text, 0o600)
}

// TestRecipe asks a real process of an installation what it was given. That must
// be the recipe, and nothing else, and each part of it must be in the digest.
func TestRecipe(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(self, filepath.Join(bin, "ansible-galaxy")))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))

	own := []string{
		"PATH=" + os.Getenv("PATH"), "TZ=Europe/Berlin", "https_proxy=http://proxy.example.org", "SSL_CERT_DIR=/etc/ssl/certs",
		"KUBERNETES_SERVICE_HOST=10.0.0.1", "HOME=/root", "SECRET=of-the-provider",
	}
	req := request(t, inputs.Inputs{
		Requirements: "{collections: [acme.web, 'git+ssh://git@git.example.org/x.git'], roles: [acme.motd]}",
		Env:          map[string]string{"http_proxy": "http://me:secret@proxy", "LOCALDOMAIN": "example.org", "SSL_CERT_FILE": "ca.crt", "ANSIBLE_FORKS": "5"},
		Credentials: []inputs.File{
			{Name: "ansible.cfg", Data: []byte("[galaxy]\ngpg_keyring = ./keys\n")},
			{Name: ".git-credentials", Data: []byte("\xff\xfe")},
			{Name: "ca.crt", Data: []byte("ca")},
			{Name: "id_rsa", Data: []byte("key\n")},
			{Name: "known_hosts"},
			{Name: "keys"},
			{Name: ".netrc", Data: []byte("machine x")},
			{Name: "vault-password", Data: []byte("for plays")},
		},
	})

	set, release, err := newStore(t, t.TempDir(), withEnviron(own)).Ensure(t.Context(), req)
	must(t, err)
	t.Cleanup(release)

	want := galaxy.Installer{Environ: own}.Recipe(req.Request)

	got := galaxy.Recipe{Files: map[string][]byte{}, Grant: req.Grant}
	files := map[string]bool{}

	for _, p := range []galaxy.Step{{What: galaxy.CollectionsDir}, {What: galaxy.RolesDir}} {
		g := readGiven(t, filepath.Join(set.Dir, p.What, "given", "given.json"))
		p.Argv, p.File = g.Argv, g.Argv[slices.Index(g.Argv, "-r")+1]
		p.Text = g.Files[filepath.Base(p.File)]
		got.Steps, got.Env = append(got.Steps, p), g.Env

		for name, data := range g.Files {
			files[name] = true
			if file, ok := strings.CutPrefix(name, "home/"); ok {
				got.Files[file] = data
			}
		}
	}

	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Fatalf("\nThe recipe is what the installer is given, and all of it: -want, +got:\n%s", diff)
	}

	for name := range files {
		if base := filepath.Base(name); got.Files[base] == nil && name != "collections.yml" && name != "roles.yml" && name != "set/collections/given/given.json" {
			t.Errorf("\nA file that is in no recipe: %s", name)
		}
	}

	for name, other := range changes(got) {
		if digestOf([]byte("key"), "2.19", other) == digestOf([]byte("key"), "2.19", got) {
			t.Errorf("\nEach part of what is given is in the digest, but not: %s", name)
		}
	}
}

// changes of a recipe, one for each thing that is in it.
func changes(c galaxy.Recipe) map[string]galaxy.Recipe {
	changed := map[string]galaxy.Recipe{}
	set := func(name string, change func(*galaxy.Recipe)) {
		other := c
		other.Env, other.Files = slices.Clone(c.Env), maps.Clone(c.Files)
		other.Steps = slices.Clone(c.Steps)
		change(&other)
		changed[name] = other
	}

	set("a variable more", func(c *galaxy.Recipe) { c.Env = append(c.Env, "RES_OPTIONS=") })
	set("a file more", func(c *galaxy.Recipe) { c.Files["more"] = nil })
	set("a program less", func(c *galaxy.Recipe) { c.Steps = c.Steps[:1] })
	set("a grant", func(c *galaxy.Recipe) { c.Grant.Read = []string{"/a"} })
	set("a path to write to", func(c *galaxy.Recipe) { c.Grant.Write = []string{"/a"} })
	set("the service account", func(c *galaxy.Recipe) { c.Grant.ServiceAccount = true })

	for i, kv := range c.Env {
		set("variable "+kv, func(c *galaxy.Recipe) { c.Env[i] += "\xff" })
		set("no variable "+kv, func(c *galaxy.Recipe) { c.Env = slices.Delete(c.Env, i, i+1) })
	}

	for name, data := range c.Files {
		set("file "+name, func(c *galaxy.Recipe) { c.Files[name] = append(slices.Clone(data), ' ') })
		set("no file "+name, func(c *galaxy.Recipe) { delete(c.Files, name) })
	}

	for i, p := range c.Steps {
		set("text of "+p.What, func(c *galaxy.Recipe) { c.Steps[i].Text = append(slices.Clone(p.Text), ' ') })

		for n, arg := range p.Argv {
			set("argument "+arg+" of "+p.What, func(c *galaxy.Recipe) {
				c.Steps[i].Argv = slices.Clone(p.Argv)
				c.Steps[i].Argv[n] += "x"
			})
		}
	}

	return changed
}

// readGiven with the directory of the workspace replaced by what stands for it.
func readGiven(t *testing.T, file string) given {
	t.Helper()

	text, err := os.ReadFile(file)
	must(t, err)

	g := given{}
	must(t, json.Unmarshal(text, &g))

	root := filepath.Dir(g.Argv[slices.Index(g.Argv, "-r")+1])
	for _, texts := range [][]string{g.Argv, g.Env} {
		for i := range texts {
			texts[i] = strings.ReplaceAll(texts[i], root, "\x00")
		}
	}

	// The name that the process was found by.
	g.Argv[0] = filepath.Base(g.Argv[0])

	return g
}

// TestOwnEnviron says which variables of the provider's count.
func TestOwnEnviron(t *testing.T) {
	in := inputs.Inputs{Requirements: "collections: [acme.web]"}
	own := []string{"PATH=/bin", "HTTPS_PROXY=a", "TZ=UTC", "HOSTNAME=pod-1"}

	cases := map[string]struct {
		reason string
		own    []string
		same   bool
	}{
		"Proxy":    {reason: "What comes over another proxy may be something else.", own: []string{"PATH=/bin", "HTTPS_PROXY=b", "TZ=UTC"}},
		"Path":     {reason: "So may what other programs install.", own: []string{"PATH=/usr/bin", "HTTPS_PROXY=a", "TZ=UTC"}},
		"TimeZone": {reason: "The time zone is not given to the installer.", own: []string{"PATH=/bin", "HTTPS_PROXY=a", "TZ=Europe/Berlin"}, same: true},
		"Other":    {reason: "Nor is what is the provider's only.", own: []string{"PATH=/bin", "HTTPS_PROXY=a", "HOSTNAME=pod-2"}, same: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := digestFor(t, in, "", "", own...), digestFor(t, in, "", "", tc.own...)
			if diff := cmp.Diff(tc.same, a == b); diff != "" {
				t.Errorf("\n%s\ndigest(...): -want same, +got same:\n%s", tc.reason, diff)
			}
		})
	}
}
