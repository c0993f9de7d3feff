package events

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// update lets TestUpdate make the streams in testdata again from the
// playbooks beside them, with the tools in PATH.
var update = flag.Bool("update", false, "make the streams in testdata again")

// playDir replaces the directory in which the streams were made.
const playDir = "/play"

func TestUpdate(t *testing.T) {
	if !*update {
		return
	}

	playbooks, err := filepath.Glob("testdata/*.yml")
	needs.OK(t, err)

	for _, p := range playbooks {
		name := strings.TrimSuffix(p, ".yml")

		t.Run(filepath.Base(name), func(t *testing.T) {
			needs.OK(t, os.WriteFile(name+".jsonl", play(t, p), 0o600))
		})
	}
}

// TestUpdateCauses records the failures of testdata/causes with the version of Ansible in PATH.
func TestUpdateCauses(t *testing.T) {
	if !*update {
		return
	}

	var failures []byte

	for line := range bytes.Lines(play(t, "testdata/causes/playbook.yml")) {
		if e, ok := parse(line); ok && (e.Kind == itemFailed || e.Kind == hostFailed || e.Kind == hostDark) {
			failures = append(failures, line...)
		}
	}

	shown, err := exec.CommandContext(t.Context(), needs.Program(t, "ansible-playbook"), "--version").Output()
	needs.OK(t, err)

	version := regexp.MustCompile(`core (\d+\.\d+)`).FindSubmatch(shown)
	needs.OK(t, os.WriteFile("testdata/causes/"+string(version[1])+".jsonl", failures, 0o600))
}

// play plays a playbook, with the options in the comment of its first line, if any.
func play(t *testing.T, playbook string) []byte {
	t.Helper()

	text, err := os.ReadFile(playbook)
	needs.OK(t, err)

	options := ""
	if first, _, _ := strings.Cut(string(text), "\n"); strings.HasPrefix(first, "# ") {
		options = first[2:]
	}

	dir := t.TempDir()
	needs.OK(t, os.CopyFS(filepath.Join(dir, "project"), os.DirFS("testdata/causes")))

	files := map[string]string{
		"project/playbook.yml": string(text),
		"project/unreachable":  "#!/bin/sh\necho connection refused >&2\nexit 255\n",
		"project/nonsense.yml": "a: [\n",
		"env/settings":         `{"suppress_output_file": true}`,
		"args":                 "ansible-playbook " + options + " playbook.yml",
	}

	for name, text := range files {
		path := filepath.Join(dir, name)

		needs.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))

		needs.OK(t, os.WriteFile(path, []byte(text), 0o700))
	}

	cmd := exec.Command(needs.Program(t, "ansible-runner"), "run", dir, "--json", "-p", "playbook.yml")
	collections, err := filepath.Abs("../collection")
	needs.OK(t, err)

	cmd.Env = []string{
		"ANSIBLE_COLLECTIONS_PATH=" + collections, "ANSIBLE_SHOW_CUSTOM_STATS=1",
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCALHOST_WARNING=False",
		"ANSIBLE_INVENTORY_UNPARSED_WARNING=False", "ANSIBLE_SSH_RETRIES=0",
	}

	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() < 0 || len(out) == 0 {
		t.Fatalf("ansible-runner: %v", err)
	}

	out = bytes.ReplaceAll(out, []byte(filepath.Dir(filepath.Dir(cmd.Path))), []byte("/venv"))

	return bytes.ReplaceAll(out, []byte(dir), []byte(playDir))
}
