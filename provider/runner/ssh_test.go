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

// hostsOf returns an inventory of hosts that are all the same server.
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
	// The host key of the server differs from the known one.
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
			reason: "A key is found by its name, as users of crossplane-contrib/provider-ansible write it. Without known hosts, any host key is accepted. " +
				"Paths of sockets are short, whatever the state directory of the provider is.",
			inputs: via(identity, key),
			option: func(r *Runner) { r.dir = filepath.Join(r.dir, strings.Repeat("d", 100)) },
		},
		"NoKey": {
			reason: "Without a key, the server refuses the login, and the message says so.",
			inputs: via(""), want: unreachable, says: []string{"Permission denied (publickey)."},
		},
		"KnownHost": {
			reason: "Arguments of ssh in an inventory replace those of the environment, but the known hosts still apply. " +
				"An ansible.cfg may name the key. A key without its last line end, which is easily lost in a Secret, works.",
			inputs: via("ansible_ssh_common_args='-o LogLevel=ERROR'", known, inputs.File{Name: key.Name, Data: bytes.TrimSpace(key.Data), Secret: true},
				inputs.File{Name: "ansible.cfg", Data: []byte("[defaults]\nprivate_key_file = id_ed25519\n")}),
		},
		"OtherHostKeyAndArguments": {
			reason: "A connection to a host with another key fails, also with arguments of ssh in an inventory.",
			inputs: via(identity+" ansible_ssh_common_args='-o LogLevel=ERROR'", key, wrong), want: unreachable, says: []string{changed},
		},
		"UnknownHost": {
			reason: "With host key checking, an unknown host key is not accepted and stored.",
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
