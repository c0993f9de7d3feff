package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

func startSSHD(t *testing.T) *sshd.Server {
	t.Helper()
	needs.Program(t, "sshd")

	s, err := sshd.Start(t.Context(), t.TempDir(), sshd.Options{})
	if err != nil {
		t.Fatalf("Start(...): %v", err)
	}

	t.Cleanup(s.Stop)

	return s
}

// hostsOf is an inventory of hosts that are all one server.
func hostsOf(s *sshd.Server, vars string, names ...string) []byte {
	var b bytes.Buffer

	for _, name := range names {
		fmt.Fprintf(&b, "%s ansible_host=%s ansible_port=%d ansible_user=%s ansible_python_interpreter='{{ ansible_playbook_python }}' %s\n",
			name, s.Host, s.Port, s.User, vars)
	}

	return b.Bytes()
}

// touch a file per host in a directory that is a variable.
const touch = `
- hosts: all
  gather_facts: false
  tasks:
  - ansible.builtin.copy: {dest: "{{ dir }}/{{ inventory_hostname }}", content: ""}
`

func TestRunSSH(t *testing.T) {
	t.Parallel()

	server, other := startSSHD(t), startSSHD(t)
	key := inputs.File{Name: "id_ed25519", Data: server.Key, Secret: true}
	known := inputs.File{Name: "known_hosts", Data: []byte(server.KnownHosts())}
	// What the server has is not what is known of it.
	wrong := inputs.File{Name: "known_hosts", Data: []byte(fmt.Sprintf("[%s]:%d %s\n", server.Host, server.Port, other.HostKey))}
	succeeded := Result{Phase: common.PhaseSucceeded}
	unreachable := Result{Phase: common.PhaseFailed, Reason: common.ReasonHostUnreachable}

	const (
		identity = "ansible_ssh_private_key_file=id_ed25519"
		changed  = "Host key verification failed."
	)

	cases := map[string]struct {
		reason      string
		vars        string
		credentials []inputs.File
		env         map[string]string
		// dir is added to the directory of the runs.
		dir     string
		want    Result
		message string
	}{
		"KeyInInventory": {
			reason: "A key is found by its name, as users of provider-ansible write it. Without known hosts any host will do. " +
				"Sockets have short names wherever the provider keeps its state.",
			vars:        identity,
			credentials: []inputs.File{key},
			dir:         strings.Repeat("d", 100),
			want:        succeeded,
		},
		"KeyInConfig": {
			reason:      "An ansible.cfg may name the key. One whose last line end got lost on its way into a Secret is a key.",
			credentials: []inputs.File{{Name: key.Name, Data: bytes.TrimSpace(key.Data), Secret: true}, {Name: "ansible.cfg", Data: []byte("[defaults]\nprivate_key_file = id_ed25519\n")}},
			want:        succeeded,
		},
		"NoKey": {
			reason:  "Without a key the door is closed, and the user is told so.",
			want:    unreachable,
			message: "Permission denied (publickey).",
		},
		"KnownHost": {
			reason:      "A host that is known is talked to.",
			vars:        identity,
			credentials: []inputs.File{key, known},
			want:        succeeded,
		},
		"KnownHostAndArguments": {
			reason:      "Arguments for ssh in an inventory replace those in the environment, but do not make known hosts unknown.",
			vars:        identity + " ansible_ssh_common_args='-o LogLevel=ERROR'",
			credentials: []inputs.File{key, known},
			want:        succeeded,
		},
		"OtherHostKey": {
			reason:      "A host that is not the known one is not talked to.",
			vars:        identity,
			credentials: []inputs.File{key, wrong},
			want:        unreachable,
			message:     changed,
		},
		"OtherHostKeyAndArguments": {
			reason:      "Neither is it with arguments for ssh in an inventory.",
			vars:        identity + " ansible_ssh_common_args='-o LogLevel=ERROR'",
			credentials: []inputs.File{key, wrong},
			want:        unreachable,
			message:     changed,
		},
		"UnknownHost": {
			reason:      "When host keys are asked for, none is learnt on the way.",
			vars:        identity,
			credentials: []inputs.File{key},
			env:         map[string]string{"ANSIBLE_SSH_HOST_KEY_CHECKING": "yes"},
			want:        unreachable,
			message:     changed,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r, dir := newRunner(t), t.TempDir()
			r.dir = filepath.Join(r.dir, tc.dir)

			if err := os.MkdirAll(r.dir, 0o700); err != nil {
				t.Fatal(err)
			}

			run := inline(touch)
			run.Inputs.Inventories = []inputs.File{{Data: hostsOf(server, tc.vars, "host")}}
			run.Inputs.Credentials = tc.credentials
			run.Inputs.Env = tc.env
			run.Inputs.Parameters.Vars = raw(`{"dir": "` + dir + `"}`)

			got := must(t, r, run)
			t.Log(got.Message)

			if diff := cmp.Diff(tc.want, got, ignoreSummary(), cmpopts.IgnoreFields(Result{}, "Message")); diff != "" {
				t.Errorf("%s\nRun(...): -want, +got:\n%s", tc.reason, diff)
			}

			if !strings.Contains(got.Message, tc.message) {
				t.Errorf("%s\nRun(...): want %q in the message, got %q", tc.reason, tc.message, got.Message)
			}

			_, err := os.Stat(filepath.Join(dir, "host"))
			if diff := cmp.Diff(tc.want.Phase == common.PhaseSucceeded, err == nil); diff != "" {
				t.Errorf("%s\n-want the task run, +got:\n%s", tc.reason, diff)
			}

			if found := left(t, r.dir); len(found) > 0 {
				t.Errorf("Connections that are kept open end with the run.\nThese are left: %q", found)
			}
		})
	}
}

// TestRunInventoryScripts runs inventories as scripts, in the working directory
// of the play.
func TestRunInventoryScripts(t *testing.T) {
	t.Parallel()

	run := inline("- hosts: web\n  gather_facts: false\n  tasks:\n  - ansible.builtin.set_stats: {data: {hosts: \"{{ ansible_play_hosts }}\"}}\n    run_once: true\n")
	run.Inputs.Parameters.ExecutableInventory = true
	run.Inputs.Inventories = []inputs.File{
		{Data: []byte("#!/bin/sh\necho '{\"web\": {\"hosts\": [\"'$(cat token)'\", \"'$ZONE'\"]}, \"_meta\": {\"hostvars\": {}}}'\n")},
		// Ansible tries what cannot be executed as text.
		{Data: []byte("[web]\nplain\n")},
	}
	run.Inputs.Credentials = []inputs.File{{Name: "token", Data: []byte("from-token")}}
	run.Inputs.Env = map[string]string{"ZONE": "from-zone"}

	res := must(t, newRunner(t), run)
	if diff := cmp.Diff(`{"hosts":["from-token","from-zone","plain"]}`, string(res.Summary.Outputs)); diff != "" {
		t.Errorf("A script sees credentials and the environment.\nRun(...): %s\n-want outputs, +got outputs:\n%s", res.Message, diff)
	}
}
