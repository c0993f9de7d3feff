package inputs

import (
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestAttacks has values that are to become something else on the way into an
// argument, a file name or the environment.
func TestAttacks(t *testing.T) {
	fine := common.AnsibleRunParameters{PlaybookInline: "- hosts: all"}
	limit := func(s string) Inputs { return Inputs{Parameters: common.AnsibleRunParameters{Limit: s}} }
	playbook := func(s string) Inputs { return Inputs{Parameters: common.AnsibleRunParameters{Playbook: s}} }
	ofProject := func(s string) Inputs {
		return Inputs{Parameters: common.AnsibleRunParameters{Playbook: s, Project: &common.Project{}}}
	}
	role := func(name string) Inputs {
		return Inputs{Parameters: common.AnsibleRunParameters{Role: name}, Roles: []common.Role{{Name: name}}}
	}
	credential := func(name string) Inputs { return Inputs{Parameters: fine, Credentials: []File{{Name: name}}} }

	for want, attacks := range map[string][]Inputs{
		"must not name a file": {limit("@/proc/1/environ"), limit("web,@/etc/shadow"), limit("web:@/etc/shadow")},
		"must not contain control characters": {
			limit("web\x00"), limit("web\n--extra-vars=@/etc/shadow"),
			{Parameters: common.AnsibleRunParameters{Hosts: "web\n  connection: local"}},
			{Parameters: common.AnsibleRunParameters{Tags: []string{"a", "b\x00"}}},
			{Parameters: common.AnsibleRunParameters{SkipTags: []string{"a\n"}}},
		},
		"must be namespace.collection.role": {
			role(".."), role("/etc/x"), role("-e"), role("a.b\n- hosts: all"), role("a.b\x00"),
			role("{{ lookup('pipe', 'id') }}"),
		},
		"must not start with a dash":              {credential("-x"), ofProject("-x.yml")},
		"must be a path without . and .. below":   {ofProject("../site.yml"), ofProject("/etc/a.yml")},
		"must not contain spaces, quotes, braces": {ofProject("{{ x }}.yml"), ofProject("a b.yml")},
		"must be namespace.collection.playbook":   {playbook("/etc/x.yml"), playbook("--inventory=x.y.z"), playbook("{{a}}.b.c")},
		"must not start with a dot":               {credential("..")},
		"must be the name of a file, without a path": {
			credential("../../x"), credential("/etc/x"), credential(`..\x`), credential("x\x00.cfg"), credential("x\ry"), credential("x\x1b]0;y"),
		},
		"must have 255 bytes at most": {credential(strings.Repeat("é", 128))}, // Kubernetes counts characters.
		"has a meaning":               {credential("callback_plugins"), credential("playbook.yml")},
	} {
		for _, in := range attacks {
			if got := needs.Message(in.Validate()); !strings.Contains(got, want) {
				t.Errorf("Validate(): want %q, got %q", want, got)
			}
		}
	}

	for want, names := range map[string][]string{
		"must be the name": {"A\x00B"},
		"runs a program":   {"SSH_ASKPASS"},
		"can make git run": {"GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "GIT_ALLOW_PROTOCOL", "GIT_TEMPLATE_DIR", "GIT_EDITOR"},
		"is set by the provider": {
			"LD_AUDIT", "PYTHONSTARTUP", "PYTHONWARNINGS", "BASH_ENV", "BASH_FUNC_git%%", "ENV", "HOME", "XDG_CONFIG_HOME", "AWX_ISOLATED_DATA_DIR",
			"OPENSSL_CONF", "GODEBUG", "GCONV_PATH", "GLIBC_TUNABLES",
		},
	} {
		for _, name := range names {
			if got := needs.Message(Inputs{Parameters: fine, Env: map[string]string{name: "x"}}.Validate()); !strings.Contains(got, want) {
				t.Errorf("Validate(): %s: want %q, got %q", name, want, got)
			}
		}
	}
}
