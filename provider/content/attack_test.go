package content

import (
	"archive/tar"
	"bytes"
	order "cmp"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// canary is in a file of the provider's, outside of the store.
const canary = "stolen-from-the-provider"

// TestAttacks installs content that was made to harm, with the real
// ansible-galaxy and git, and without any confinement. It may fail or not; it
// must not write to or read from outside of its set.
func TestAttacks(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	var (
		file = func(name, text string) entryOf { return entryOf{Name: name, Typeflag: tar.TypeReg, text: text} }
		link = func(name, target string) entryOf {
			return entryOf{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
		}
		meta = file("x/meta/main.yml", roleFiles()["meta/main.yml"])
	)

	cases := map[string]struct {
		reason string
		// archive of a role, if there is one. OUT is the directory around.
		archive []entryOf
		// repository of a role or a collection, with links in it by name.
		repository, links map[string]string
		requirements      string
		// fails is true where it must not be installed, either.
		fails bool
	}{
		"ArchiveUp":       {reason: "A path leads out of the archive.", archive: []entryOf{meta, file("x/../../../../../../../../../../../../OUT/evil", "x")}},
		"ArchiveAbsolute": {reason: "A path starts at the root.", archive: []entryOf{meta, file("/OUT/evil", "x")}},
		"ArchiveLink":     {reason: "A file is written through a link.", archive: []entryOf{meta, link("x/tasks", "/OUT"), file("x/tasks/evil", "x")}},
		"ArchiveHardLink": {reason: "A name for the file of somebody else.", archive: []entryOf{meta, {Name: "x/tasks/main.yml", Typeflag: tar.TypeLink, Linkname: "/OUT/canary"}}},
		"ArchiveDevice":   {reason: "A device.", archive: []entryOf{meta, {Name: "x/tasks/main.yml", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}}},
		"ArchivePipe":     {reason: "What is read never ends.", archive: []entryOf{meta, {Name: "x/meta/.galaxy_install_info", Typeflag: tar.TypeFifo}, {Name: "x/tasks/main.yml", Typeflag: tar.TypeFifo}}},
		"RoleInfoLink": {
			reason:     "What says which version is installed is a file of the provider's.",
			repository: roleFiles(),
			links:      map[string]string{"meta/.galaxy_install_info": "/OUT/canary"},
		},
		"CollectionLink": {
			reason:       "So it is for a collection.",
			repository:   map[string]string{"README.md": "x", "roles/x/tasks/main.yml": "[]"},
			links:        map[string]string{"galaxy.yml": "/OUT/canary", "MANIFEST.json": "/OUT/canary"},
			requirements: "collections: [{name: 'file://REPO', type: git}]",
			fails:        true,
		},
		"Submodule": {
			reason: "A submodule is cloned by running a command.",
			repository: map[string]string{
				"meta/main.yml": roleFiles()["meta/main.yml"],
				".gitmodules":   "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c 'touch /OUT/evil'\n\tupdate = !touch /OUT/evil\n",
			},
		},
		"Ext":        {reason: "A URL is a command.", requirements: "collections: [{name: 'ext::sh -c \"touch% /OUT/evil\"', type: git}]", fails: true},
		"ExtOfRole":  {reason: "So it is for a role.", requirements: "roles: [{name: x, src: 'ext::sh -c \"touch% /OUT/evil\"', scm: git}]", fails: true},
		"SSHOption":  {reason: "A host is an option of ssh.", requirements: "roles: [{name: x, src: 'ssh://-oProxyCommand=touch$IFS/OUT/evil/x.git'}]", fails: true},
		"GitOption":  {reason: "A version is an option of git.", requirements: "collections: [{name: 'file://REPO', type: git, version: '--upload-pack=touch /OUT/evil'}]", fails: true},
		"CommaTrick": {reason: "So it is behind a comma.", requirements: "collections: ['git+file://REPO,--upload-pack=touch /OUT/evil']", fails: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			out := t.TempDir()
			fill := func(s string) string {
				return strings.NewReplacer("/OUT", out, "OUT", strings.TrimPrefix(out, "/"), "REPO", filepath.Join(out, "repo")).Replace(s)
			}

			write(t, out, map[string]string{"canary": "version: " + canary + "\nnamespace: acme\nname: web\n"})

			required := tc.requirements

			switch {
			case tc.archive != nil:
				required = "roles: [{name: x, src: '" + attackArchive(t, out, tc.archive, fill) + "'}]"
			case tc.repository != nil:
				for name, text := range tc.repository {
					write(t, filepath.Join(out, "repo"), map[string]string{name: fill(text)})
				}

				for name, target := range tc.links {
					must(t, os.Symlink(fill(target), filepath.Join(out, "repo", name)))
				}

				gitRepo(t, filepath.Join(out, "repo"), nil)
				fallthrough
			default:
				required = fill(order.Or(required, "roles: [{name: x, src: 'file://REPO', scm: git}]"))
			}

			before := filesBelow(t, out)
			s := newStore(t, t.TempDir())

			req, err := NewRequest(inputs.Inputs{Requirements: required})

			var set Set
			if err == nil {
				var release func()
				if set, release, err = s.Ensure(t.Context(), req); err == nil {
					defer release()
				}
			}

			if tc.fails && err == nil {
				t.Errorf("\n%s\nEnsure(...): it was installed", tc.reason)
			}

			if got := fmt.Sprint(err, set.Collections, set.Roles); strings.Contains(got, canary) {
				t.Errorf("\n%s\nEnsure(...): %s", tc.reason, got)
			}

			if diff := cmp.Diff(before, filesBelow(t, out)); diff != "" {
				t.Errorf("\n%s\nWhat is outside of the store is left alone: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func touch(t *testing.T, dir, name, text string) string {
	t.Helper()
	write(t, dir, map[string]string{name: text})

	return filepath.Join(dir, name)
}

// TestAttackBytecode has two archives of a role, one of them with bytecode that is
// not that of the source beside it.
func TestAttackBytecode(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	const good, bad = "class FilterModule:\n    def filters(self):\n        return {'who': lambda x: 'good'}\n", "evil"

	out := t.TempDir()
	write(t, out, map[string]string{"evil.py": strings.Replace(good, "good", bad, 1), "play.yml": "- hosts: localhost\n  gather_facts: false\n  roles: [x]\n"})
	command(t, out, "python3", "-c", "import py_compile; py_compile.compile('evil.py', 'evil.pyc', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)")

	code, err := os.ReadFile(filepath.Join(out, "evil.pyc"))
	must(t, err)

	tag, err := exec.Command("python3", "-c", "import sys; print(sys.implementation.cache_tag, end='')").Output()
	must(t, err)

	honest := []entryOf{
		{Name: "x/meta/main.yml", Typeflag: tar.TypeReg, text: roleFiles()["meta/main.yml"]},
		{Name: "x/filter_plugins/who.py", Typeflag: tar.TypeReg, text: good},
		{Name: "x/tasks/main.yml", Typeflag: tar.TypeReg, text: "- debug: {msg: 'it is {{ 1 | who }}'}\n"},
	}
	archives := map[string][]entryOf{
		"honest": honest,
		"forged": append(slices.Clone(honest), entryOf{Name: "x/filter_plugins/" + "__pycache__" + "/who." + string(tag) + ".pyc", Typeflag: tar.TypeReg, text: string(code)}),
	}
	revisions := map[string]string{}

	for name, entries := range archives {
		dir := filepath.Join(out, name)
		must(t, os.Mkdir(dir, 0o700))

		archive := attackArchive(t, dir, entries, func(s string) string { return s })
		command(t, dir, "tar", "-xzf", archive)

		play := func(roles string) string {
			cmd := exec.Command("ansible-playbook", "../play.yml")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "ANSIBLE_ROLES_PATH="+roles, "PYTHONDONTWRITEBYTECODE=1")

			said, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}

			return string(said)
		}

		set, release := ensure(t, newStore(t, t.TempDir()), request(t, inputs.Inputs{Requirements: "roles: [{name: x, src: 'file://" + archive + "'}]"}))
		defer release()

		revisions[name] = set.Roles[0].Revision

		if said := play(set.RolesPath()); !strings.Contains(said, "it is good") {
			t.Errorf("\nWhat runs is the source that is in the revision.\n%s", said)
		}

		if said := play("."); name == "forged" && !strings.Contains(said, "it is evil") {
			t.Errorf("\nThe attack should work without a store.\n%s", said)
		}
	}

	if diff := cmp.Diff(revisions["honest"], revisions["forged"]); diff != "" {
		t.Errorf("\nWhat runs the same has the same revision: -honest, +forged:\n%s", diff)
	}
}

// TestAttackUnlisted has archives that differ only in what is about their
// installation, and content that goes by it.
func TestAttackUnlisted(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	contents := map[string]map[string]string{}

	for _, text := range []string{"a", "b"} {
		dir := t.TempDir()
		write(t, dir, collectionFiles("tools", "1.0.0"))
		write(t, dir, map[string]string{"galaxy.yml": collectionFiles("tools", "1.0.0")["galaxy.yml"] + "description: " + text + "\n"})
		command(t, dir, "ansible-galaxy", "collection", "build", "--output-path", filepath.Join(dir, "out"))
		must(t, os.Rename(filepath.Join(dir, "out", "acme-tools-1.0.0.tar.gz"), filepath.Join(dir, "tools.tar.gz")))

		role := attackArchive(t, dir, []entryOf{
			{Name: "x/meta/main.yml", Typeflag: tar.TypeReg, text: roleFiles()["meta/main.yml"]},
			{Name: "x/meta/.galaxy_install_info", Typeflag: tar.TypeReg, text: "version: " + text},
			{Name: "x/" + "__pycache__", Typeflag: tar.TypeReg, text: text},
		}, func(s string) string { return s })

		req := request(t, inputs.Inputs{Requirements: "{collections: [" + filepath.Join(dir, "tools.tar.gz") + "], roles: [{name: x, src: 'file://" + role + "'}]}"})
		set, release := ensure(t, newStore(t, t.TempDir()), req)
		defer release()

		files := filesBelow(t, set.CollectionsPath())
		maps.Copy(files, filesBelow(t, set.RolesPath()))
		contents[text] = map[string]string{"revisions": fmt.Sprint(set.Collections, set.Roles)}

		for name, data := range files {
			contents[text][strings.TrimPrefix(name, set.Dir)] = data
		}
	}

	if diff := cmp.Diff(contents["a"], contents["b"]); diff != "" {
		t.Errorf("\nContent of one revision is the same, byte by byte: -a, +b:\n%s", diff)
	}
}

type entryOf struct {
	Name, Linkname     string
	Typeflag           byte
	Devmajor, Devminor int64
	text               string
}

// attackArchive of a role, by its path.
func attackArchive(t *testing.T, dir string, entries []entryOf, fill func(string) string) string {
	t.Helper()

	var b bytes.Buffer

	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)

	for _, e := range entries {
		must(t, w.WriteHeader(&tar.Header{
			Name: fill(e.Name), Linkname: fill(e.Linkname), Typeflag: e.Typeflag, Devmajor: e.Devmajor, Devminor: e.Devminor,
			Mode: 0o644, Size: int64(len(e.text)),
		}))

		_, err := w.Write([]byte(e.text))
		must(t, err)
	}

	must(t, w.Close())
	must(t, z.Close())

	path := filepath.Join(dir, "x.tar.gz")
	must(t, os.WriteFile(path, b.Bytes(), 0o600))

	return path
}

// filesBelow a directory, with what is in them.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()

	found := map[string]string{}

	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}

		text, err := os.ReadFile(path)
		found[path] = string(text)

		return err
	}))

	return found
}
