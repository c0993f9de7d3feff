package runner

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

func startSSHD(t *testing.T) *sshd.Server {
	t.Helper()

	return sshd.Start(t, t.TempDir(), sshd.Options{})
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

func TestRunSSH(t *testing.T) {
	t.Parallel()

	server, other := startSSHD(t), startSSHD(t)
	key := inputs.File{Name: "id_ed25519", Data: server.Key, Secret: true}
	known := inputs.File{Name: "known_hosts", Data: []byte(server.KnownHosts())}
	// What the server has is not what is known of it.
	wrong := inputs.File{Name: "known_hosts", Data: []byte(fmt.Sprintf("[%s]:%d %s\n", server.Host, server.Port, other.HostKey))}
	unreachable := failing(common.ReasonHostUnreachable, "")
	via := func(vars string, credentials ...inputs.File) func(*inputs.Inputs) {
		return func(in *inputs.Inputs) {
			in.Inventories, in.Credentials = []inputs.File{{Data: hostsOf(server, vars, "host")}}, credentials
		}
	}

	const (
		identity = "ansible_ssh_private_key_file=id_ed25519"
		changed  = "Host key verification failed."
	)

	trials := map[string]trial{
		"KeyInInventory": {
			reason: "A key is found by its name, as users of provider-ansible write it. Without known hosts any host will do. " +
				"Sockets have short names wherever the provider keeps its state.",
			inputs: via(identity, key),
			option: func(r *Runner) { r.dir = filepath.Join(r.dir, strings.Repeat("d", 100)) },
		},
		"NoKey": {
			reason: "Without a key the door is closed, and the user is told so.",
			inputs: via(""), want: unreachable, says: []string{"Permission denied (publickey)."},
		},
		"KnownHost": {
			reason: "Arguments for ssh in an inventory replace those in the environment, but do not make known hosts unknown. " +
				"An ansible.cfg may name the key. One whose last line end got lost on its way into a Secret is a key.",
			inputs: via("ansible_ssh_common_args='-o LogLevel=ERROR'", known, inputs.File{Name: key.Name, Data: bytes.TrimSpace(key.Data), Secret: true},
				inputs.File{Name: "ansible.cfg", Data: []byte("[defaults]\nprivate_key_file = id_ed25519\n")}),
		},
		"OtherHostKeyAndArguments": {
			reason: "A host that is not the known one is not talked to, with arguments for ssh in an inventory neither.",
			inputs: via(identity+" ansible_ssh_common_args='-o LogLevel=ERROR'", key, wrong), want: unreachable, says: []string{changed},
		},
		"UnknownHost": {
			reason: "When host keys are asked for, none is learnt on the way.",
			inputs: func(in *inputs.Inputs) {
				via(identity, key)(in)
				in.Env = map[string]string{"ANSIBLE_SSH_HOST_KEY_CHECKING": "yes"}
			},
			want: unreachable, says: []string{changed},
		},
	}

	for name, tc := range trials {
		tc.playbook = "- {hosts: all, gather_facts: false, tasks: [{ansible.builtin.ping: }]}\n"
		trials[name] = tc
	}

	try(t, trials)
}
