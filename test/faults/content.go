package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// toolScript is the Python that the provider's ansible-runner is run by. It is a
// fake only in that it asks how to behave first, and misbehaves when it is told to;
// otherwise it becomes the real one.
const toolScript = `#!/bin/bash
real=%s
case $1 in */driver.py) ;; *) exec "$real" "$@" ;; esac
exec 3<>/dev/tcp/%s || exec "$real" "$@"
printf 'tool %%s %%s\n' "$(grep -rhoP '"run": \{"attempt": \d+, "id": "\K[^"]+' "$2/vars" | tail -n 1)" "$2" >&3
read -r mood <&3
exec 3>&-
case $mood in
hang) exec sleep 100000 ;;
deaf)
	trap '' TERM INT HUP QUIT PIPE USR1 USR2
	while :; do sleep 100000; done
	;;
daemon)
	(trap '' TERM HUP; setsid sleep 100000 </dev/null >/dev/null 2>&1 &)
	;;
flood)
	head -c 52428800 /dev/zero | tr '\0' x
	echo
	yes "a line of text, and nothing but text" | head -c 52428800
	echo
	;;
broken)
	printf '%%s\n' '{"uuid": "x", "counter": 1, "event": "playbook_on_start"' \
		'{"counter": "x", "event": 5}' null '[]' '"text"' \
		'{"event": "runner_on_failed", "counter": 99999999999999999999, "event_data": []}' \
		'{"event": "runner_on_ok", "counter": -1, "event_data": {"res": 7, "task": {}, "host": []}}' \
		'{"event": "playbook_on_stats", "event_data": {"processed": 1}}'
	head -c 4096 /dev/urandom
	echo
	;;
esac
exec "$real" "$@"
`

// tasks are the work of a play: it reports its beginning to the ledger, waits until the director
// decides how it ends, and reports the end.
const tasks = `- name: Work
  ansible.builtin.shell:
    executable: /bin/bash
    cmd: |
      exec 3<>/dev/tcp/{{ ledger }}
      printf 'begin %s %s %s %s %s %s %s\n' \
        {{ ansible_provider_meta.managed_resource.uid }} \
        {{ ansible_provider_meta.run.id }} {{ ansible_provider_meta.run.mode }} \
        {{ ansible_provider_meta.managed_resource.state }} \
        {{ ansible_provider_meta.managed_resource.generation }} {{ value }} $$ >&3
      read -r how what <&3 || exit 3
      {{ attack | default('') }}
      if [ "$how" = fail ]; then echo failed >&3; read -r noted <&3; exit 1; fi
      echo done >&3
      read -r noted <&3 || exit 3
      echo "$what"
  check_mode: false
  register: work
  changed_when: work.stdout == 'differs'
`

// playbook does the work without any content.
func playbook() string {
	return "- hosts: localhost\n  gather_facts: false\n  tasks:\n" + indent(tasks, "  ")
}

func indent(text, by string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")

	return by + strings.Join(lines, by) + "\n"
}

// role that does the work, too, from a Galaxy server.
const role = "faults.content.work"

// requirements that bring the role. Each number makes other ones, which have to
// be installed again.
func requirements(server string, n int) string {
	return fmt.Sprintf("collections:\n- name: faults.content\n  version: '>=1.0.0,<9.%d.0'\n  source: %s\n", n, server)
}

// writeTool writes the ansible-runner of the provider into a directory.
func writeTool(dir, ledger, python string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // There is nothing secret in it.
		return errors.Wrap(err, "cannot make a directory for the tool")
	}

	tool := filepath.Join(dir, "python3")

	for path, text := range map[string]string{
		tool:                                 fmt.Sprintf(toolScript, python, ledger),
		filepath.Join(dir, "ansible-runner"): "#!" + tool + "\nfrom ansible_runner.__main__ import main\nmain()\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // It is a program.
			return errors.Wrap(err, "cannot write the tool")
		}
	}

	return nil
}

// serveContent starts a Galaxy server that has the collection, on an address of this machine.
// Requests for it pass the traps.
func serveContent(ctx context.Context, host, dir, tools string, traps *trap.Set) (*sources.Server, error) {
	src := filepath.Join(dir, "collection")

	for name, text := range map[string]string{
		"galaxy.yml":                "namespace: faults\nname: content\nversion: 1.0.0\nreadme: README.md\nauthors: [test]\n",
		"README.md":                 "A collection to inject faults into.\n",
		"roles/work/tasks/main.yml": tasks,
	} {
		path := filepath.Join(src, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return nil, errors.Wrap(err, "cannot write a collection")
		}
	}

	cmd := exec.CommandContext(ctx, filepath.Join(tools, "ansible-galaxy"), "collection", "build", "--force",
		"--output-path", dir)
	cmd.Dir = src

	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Wrapf(err, "cannot build a collection: %s", out)
	}

	galaxy := sources.NewGalaxy()
	if err := galaxy.Publish(filepath.Join(dir, "faults-content-1.0.0.tar.gz")); err != nil {
		return nil, err
	}

	sparse, err := sparseRole(ctx, dir)
	if err != nil {
		return nil, err
	}

	return sources.Start(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		traps.Pass(r.Context(), trap.Event{Kind: trap.ContentFetched})

		if r.URL.Path == "/"+sparseArchive {
			http.ServeFile(w, r, sparse)
			return
		}

		galaxy.ServeHTTP(w, r)
	}), sources.Options{Host: host})
}

// sparseArchive is a kilobyte long, and unpacks to hundreds of gigabytes.
const sparseArchive = "sparse.tar.gz"

func sparseRole(ctx context.Context, dir string) (string, error) {
	const files, size = 60, 9 << 30

	src := filepath.Join(dir, "sparse")
	if err := errors.Join(os.MkdirAll(filepath.Join(src, "tasks"), 0o700),
		os.WriteFile(filepath.Join(src, "tasks", "main.yml"), []byte("[]\n"), 0o600)); err != nil {
		return "", errors.Wrap(err, "cannot write a role")
	}

	for i := range files {
		name := filepath.Join(src, fmt.Sprint(i))
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
			return "", errors.Wrap(err, "cannot write a file that is sparse")
		}
	}

	cmd := exec.CommandContext(ctx, "tar", "--sparse", "-czf", sparseArchive, "sparse")
	cmd.Dir = dir

	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Wrapf(err, "cannot make an archive that is sparse: %s", out)
	}

	return filepath.Join(dir, sparseArchive), errors.Wrap(os.RemoveAll(src), "cannot remove what is in an archive")
}
