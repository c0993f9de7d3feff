package runner

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRunWindows has both connections to Windows begin NTLM with a server that refuses it.
func TestRunWindows(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason string
		vars   string
	}{
		"WinRM": {
			reason: "pywinrm supports NTLM.",
			vars:   "ansible_connection=winrm ansible_winrm_scheme=http ansible_winrm_transport=ntlm",
		},
		"PSRP": {
			reason: "pypsrp supports NTLM.",
			vars:   "ansible_connection=psrp ansible_psrp_protocol=http ansible_psrp_auth=ntlm",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var begun atomic.Bool

			windows := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				// The first message of NTLM: [MS-NLMP] 2.2.1.1.
				if _, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.HasPrefix(token, "TlRMTVNTUAAB") {
					begun.Store(true)
				}

				w.Header().Add("WWW-Authenticate", "NTLM")
				w.Header().Add("WWW-Authenticate", "Negotiate")
				w.WriteHeader(http.StatusUnauthorized)
			}))
			defer windows.Close()

			u, err := url.Parse(windows.URL)
			needs.OK(t, err)

			run := inline("- hosts: all\n  gather_facts: false\n  tasks: [{ansible.builtin.raw: hostname}]\n")
			run.Inputs.Inventories = []inputs.File{{Name: "hosts", Data: []byte(
				"w ansible_host=127.0.0.1 ansible_port=" + u.Port() + " ansible_user=u ansible_password=correct-horse " + tc.vars + "\n")}}

			res := must(t, newRunner(t), run)
			if res.Phase != common.PhaseFailed || !begun.Load() {
				t.Errorf("%s\nRun(...): want NTLM to begin, and to be refused, got %s %s: %s", tc.reason, res.Phase, res.Reason, res.Message)
			}
		})
	}
}

// TestRunDocumented tests statements of the documentation about the installed Ansible.
func TestRunDocumented(t *testing.T) {
	t.Parallel()

	try(t, map[string]trial{"Packages": {
		reason: "docs/images.md lists the Python libraries of filters and lookups. The variable for content with broken conditionals works, and its runs start cold, since imports have read it.",
		playbook: `
- hosts: localhost
  gather_facts: false
  vars: {a: text}
  tasks:
  - {ansible.builtin.debug: , when: a}
  - ansible.builtin.command:
      argv:
      - "{{ ansible_playbook_python }}"
      - -c
      - import distlib, dns.resolver, jmespath, jsonpatch, jsonschema, kubernetes, netaddr, passlib.hash, textfsm, xmltodict
  - ansible.builtin.assert:
      that: (item | password_hash('sha512')).startswith('$6$')
    loop: [secret]
`,
		cold:   "setting ALLOW_BROKEN_CONDITIONALS",
		inputs: func(in *inputs.Inputs) { in.Env = map[string]string{"ANSIBLE_ALLOW_BROKEN_CONDITIONALS": "true"} },
	}})
}
