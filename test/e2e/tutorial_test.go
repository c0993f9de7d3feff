package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// fences are the blocks of a page.
var fences = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// A shell runs commands as a user does.
type shell struct {
	Dir string
	Env []string
}

// newShell in an empty directory, with our programs and those of Ansible on its
// path, and the control plane as its cluster.
func newShell(t *testing.T, env ...string) *shell {
	t.Helper()

	bin, err := filepath.Abs("../../bin")
	needs.OK(t, err)

	path := []string{bin, filepath.Dir(cp.Stack.Tool("kubectl")), cp.Stack.VirtualEnv(), os.Getenv("PATH")}

	return &shell{Dir: t.TempDir(), Env: append([]string{
		"PATH=" + strings.Join(path, string(os.PathListSeparator)),
		"HOME=" + t.TempDir(),
		"LANG=C.UTF-8",
		"KUBECONFIG=" + cp.Stack.Kubeconfig(),
	}, env...)}
}

// Run commands, the first that fails the last, and return what they print.
func (s *shell) Run(t *testing.T, commands string) string {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
	cmd.Dir, cmd.Env = s.Dir, s.Env

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s\n%s", strings.TrimSpace(commands), err, out)
	}

	return string(out)
}

// Write more to a file.
func (s *shell) Write(t *testing.T, name, text string) {
	t.Helper()

	f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	needs.OK(t, err)

	_, err = f.WriteString(text)
	needs.OK(t, err)
	needs.OK(t, f.Close())
}

// pageTasks are what the role of the tutorial does, below a directory.
const pageTasks = `
- name: Refuse a title that says nothing
  ansible.builtin.assert: {that: page_title != 'TODO', fail_msg: Think of a title}
- name: Write the page
  ansible.builtin.copy: {dest: "{{ page_root }}/{{ ansible_provider_meta.managed_resource.uid }}", content: "{{ page_title }} {{ page_theme }} {{ page_paragraphs | length }}"}
  when: page_state == 'present'
- name: Remove the page
  ansible.builtin.file: {path: "{{ page_root }}/{{ ansible_provider_meta.managed_resource.uid }}", state: absent}
  when: page_state == 'absent'
- ansible.builtin.set_stats:
    data: {address: "https://example.org/{{ page_title }}"}
`

// TestTutorial runs the commands of the tutorial. All that it adds is
// what the role does, and where it comes from.
func TestTutorial(t *testing.T) {
	t.Parallel()

	text := readFile(t, "../../docs/tutorial.md")

	var manifests, commands, additions []string

	for _, m := range fences.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] == "yaml":
			manifests = append(manifests, m[2])
		case strings.HasPrefix(m[2], "function-ansible ") || strings.HasPrefix(m[2], "kubectl "):
			commands = append(commands, m[2])
		case strings.HasPrefix(m[2], "   "):
			additions = append(additions, m[2])
		}
	}

	if len(manifests) != 5 || len(commands) != 4 || len(additions) != 2 {
		t.Fatalf("the tutorial has other blocks than this test knows: %d manifests, %d commands, %d additions", len(manifests), len(commands), len(additions))
	}

	root := directory(t)
	server := served(t, sources.NewGalaxy(t, collection{Namespace: "acme", Name: "web", Version: "1.0.0", Files: map[string]string{
		"roles/page/meta/argument_specs.yml": manifests[0],
		"roles/page/defaults/main.yml":       "page_state: present\npage_paragraphs: []\npage_theme: light\npage_root: " + root + "\n",
		"roles/page/tasks/main.yml":          pageTasks,
	}}.Tarball(t)))

	sh := newShell(t, "ANSIBLE_GALAXY_SERVER="+server)
	sh.Write(t, "requirements.yml", manifests[1])
	sh.Run(t, commands[0])
	sh.Write(t, "page/composition.yaml", additions[0])
	sh.Write(t, "page/xrd.yaml", additions[1])
	sh.Run(t, commands[1])
	sh.Write(t, "page/providerconfig.yaml", "  vars: {ANSIBLE_GALAXY_SERVER: "+server+"}\n")

	pages := []Object{
		{APIVersion: "platform.example.org/v1alpha1", Kind: "Page", Namespace: "default", Name: "example"},
		{APIVersion: "platform.example.org/v1alpha1", Kind: "Page", Namespace: "default", Name: "hello"},
	}
	t.Cleanup(func() {
		for _, p := range pages {
			cp.CleanUp(t, p)
		}
	})
	sh.Run(t, commands[2])
	sh.Write(t, "hello.yaml", manifests[4])
	sh.Run(t, "kubectl apply -f hello.yaml")

	for _, p := range pages {
		cp.WaitFor(t, p, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"))
	}

	hello := cp.WaitFor(t, pages[1], Field("status.address", "https://example.org/Hello"))
	page := filepath.Join(root, string(cp.Get(t, ComposedOf(hello)[0]).GetUID()))

	if got := readFile(t, page); got != "Hello dark 0" {
		t.Errorf("The role should have written the page: want %q, got %q", "Hello dark 0", got)
	}

	// Crossplane applies conditions that it has read a moment before, and corrects them at once.
	Eventually(t, "kubectl get says that the page is available and ready", func() bool {
		return regexp.MustCompile(`(?m)^hello +Available +True +True`).MatchString(sh.Run(t, commands[3]))
	})

	sh.Run(t, `kubectl patch page hello --type=merge --patch='{"spec": {"pageTitle": "TODO"}}'`)
	cp.WaitFor(t, pages[1], Condition("Ready", "False"), Reason("AnsibleRunsReady", "RunFailed"))

	for _, part := range []string{"Refuse a title that says nothing", "localhost", "Think of a title"} {
		if out := sh.Run(t, commands[3]); !strings.Contains(out, part) {
			t.Errorf("kubectl describe should say %q, got:\n%s", part, out)
		}
	}

	sh.Run(t, "kubectl apply -f hello.yaml")
	cp.WaitFor(t, pages[1], Condition("Ready", "True"))

	// The role runs once more to clean up.
	sh.Run(t, "kubectl delete page hello --cascade=foreground --timeout=10m")

	if exists(page) {
		t.Error("The page should be gone with its object.")
	}
}
