package inputs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestAttacks has values that are to become something else on the way into an
// argument, a file name or the environment.
func TestAttacks(t *testing.T) {
	fine := common.AnsibleRunParameters{PlaybookInline: "- hosts: all"}
	with := func(fn func(p *common.AnsibleRunParameters)) Inputs {
		p := fine
		fn(&p)

		return Inputs{Parameters: p}
	}
	role := func(r common.Role) Inputs {
		return Inputs{Parameters: common.AnsibleRunParameters{Role: r.Name}, Roles: []common.Role{r}}
	}
	credential := func(name string) Inputs {
		return Inputs{Parameters: fine, Config: "It", Credentials: []File{{Name: name}}}
	}
	env := func(name, value string) Inputs {
		return Inputs{Parameters: fine, Config: "It", Env: map[string]string{name: value}}
	}

	const (
		noFile  = "must be the name of a file, without a path"
		noRole  = "must be namespace.collection.role or namespace.role"
		noBook  = "must be namespace.collection.playbook"
		program = "runs a program in the provider"
		taken   = "is set by the provider"
	)

	for name, tc := range map[string]struct {
		in   Inputs
		want string
	}{
		"LimitFile":         {in: with(func(p *common.AnsibleRunParameters) { p.Limit = "@/proc/1/environ" }), want: "must not name a file"},
		"LimitFileBehind":   {in: with(func(p *common.AnsibleRunParameters) { p.Limit = "web,@/etc/shadow" }), want: "must not name a file"},
		"LimitFileColon":    {in: with(func(p *common.AnsibleRunParameters) { p.Limit = "web:@/etc/shadow" }), want: "must not name a file"},
		"LimitNUL":          {in: with(func(p *common.AnsibleRunParameters) { p.Limit = "web\x00" }), want: "must not contain control characters"},
		"LimitLine":         {in: with(func(p *common.AnsibleRunParameters) { p.Limit = "web\n--extra-vars=@/etc/shadow" }), want: "must not contain control characters"},
		"HostsLine":         {in: with(func(p *common.AnsibleRunParameters) { p.Hosts = "web\n  connection: local" }), want: "must not contain control characters"},
		"TagNUL":            {in: with(func(p *common.AnsibleRunParameters) { p.Tags = []string{"a", "b\x00"} }), want: "tags[1]"},
		"SkipTagLine":       {in: with(func(p *common.AnsibleRunParameters) { p.SkipTags = []string{"a\n"} }), want: "skipTags[0]"},
		"RoleUp":            {in: role(common.Role{Name: ".."}), want: "Python identifier"},
		"RolePath":          {in: role(common.Role{Name: "/etc/x"}), want: noRole},
		"RoleOption":        {in: role(common.Role{Name: "-e"}), want: noRole},
		"RoleLine":          {in: role(common.Role{Name: "a.b\n- hosts: all"}), want: noRole},
		"RoleNUL":           {in: role(common.Role{Name: "a.b\x00"}), want: noRole},
		"RoleTemplate":      {in: role(common.Role{Name: "{{ lookup('pipe', 'id') }}"}), want: noRole},
		"SrcOption":         {in: role(common.Role{Name: "a.b", Src: "--upload-pack=id"}), want: "must not start with a dash"},
		"SrcOptionGit":      {in: role(common.Role{Name: "a.b", Src: "git+--upload-pack=id"}), want: "must not start with a dash"},
		"SrcOptionHg":       {in: role(common.Role{Name: "a.b", Src: "hg+ --config=alias.clone=!id"}), want: "must not start with a dash"},
		"SrcLine":           {in: role(common.Role{Name: "a.b", Src: "https://example.org/\nx"}), want: "must be printable"},
		"VersionOption":     {in: role(common.Role{Name: "a.b", Version: " --exec=id"}), want: "must not start with a dash"},
		"VersionNUL":        {in: role(common.Role{Name: "a.b", Version: "1\x00"}), want: "must be printable"},
		"VersionBytes":      {in: role(common.Role{Name: "a.b", Version: "1\xff"}), want: "must be printable"},
		"PlaybookPath":      {in: Inputs{Parameters: common.AnsibleRunParameters{Playbook: "/etc/x.yml"}}, want: noBook},
		"PlaybookOption":    {in: Inputs{Parameters: common.AnsibleRunParameters{Playbook: "--inventory=x.y.z"}}, want: noBook},
		"PlaybookTemplate":  {in: Inputs{Parameters: common.AnsibleRunParameters{Playbook: "{{a}}.b.c"}}, want: noBook},
		"CredentialUp":      {in: credential(".."), want: "must not start with a dot"},
		"CredentialPath":    {in: credential("../../x"), want: noFile},
		"CredentialRoot":    {in: credential("/etc/x"), want: noFile},
		"CredentialWindows": {in: credential(`..\x`), want: noFile},
		"CredentialNUL":     {in: credential("x\x00.cfg"), want: noFile},
		"CredentialLine":    {in: credential("x\ry"), want: noFile},
		"CredentialEscape":  {in: credential("x\x1b]0;y"), want: noFile},
		"CredentialLong":    {in: credential(strings.Repeat("x", 256)), want: "must have 255 bytes at most"},
		"CredentialOption":  {in: credential("-x"), want: "must not start with a dash"},
		"CredentialPlugins": {in: credential("callback_plugins"), want: "has a meaning"},
		"CredentialBook":    {in: credential("playbook.yml"), want: "has a meaning"},
		"EnvName":           {in: env("A\x00B", "c"), want: "must be the name"},
		"EnvAudit":          {in: env("LD_AUDIT", "/x.so"), want: taken},
		"EnvPythonStartup":  {in: env("PYTHONSTARTUP", "/x"), want: taken},
		"EnvPythonWarnings": {in: env("PYTHONWARNINGS", "error::x.y"), want: taken},
		"EnvBash":           {in: env("BASH_ENV", "/x"), want: taken},
		"EnvFunction":       {in: env("BASH_FUNC_git%%", "() { id; }"), want: taken},
		"EnvSh":             {in: env("ENV", "/x"), want: taken},
		"EnvHome":           {in: env("HOME", "/x"), want: taken},
		"EnvGitHome":        {in: env("XDG_CONFIG_HOME", "/x"), want: taken},
		"EnvRunner":         {in: env("AWX_ISOLATED_DATA_DIR", "/x"), want: taken},
		"EnvSSHAskpass":     {in: env("SSH_ASKPASS", "id"), want: program},
		"EnvGitConfig":      {in: env("GIT_CONFIG_PARAMETERS", "'core.sshcommand=id'"), want: "can make git run a program"},
		"EnvGitExec":        {in: env("GIT_EXEC_PATH", "/x"), want: "can make git run a program"},
		"EnvGitProtocol":    {in: env("GIT_ALLOW_PROTOCOL", "ext"), want: "can make git run a program"},
		"EnvGitTemplate":    {in: env("GIT_TEMPLATE_DIR", "/x"), want: "can make git run a program"},
		"EnvGitEditor":      {in: env("GIT_EDITOR", "id"), want: "can make git run a program"},
		"EnvOpenSSL":        {in: env("OPENSSL_CONF", "/x"), want: taken},
		"EnvGo":             {in: env("GODEBUG", "x"), want: taken},
		"EnvCharacters":     {in: env("GCONV_PATH", "/x"), want: taken},
		"EnvTunables":       {in: env("GLIBC_TUNABLES", "x"), want: taken},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(true, strings.Contains(message(tc.in.Validate()), tc.want)); diff != "" {
				t.Errorf("Validate(): want %q, got %q", tc.want, message(tc.in.Validate()))
			}
		})
	}
}

// TestDigestGuess tries to find out a secret of four digits from what is shown of
// it: the digest in the status, with all else that the inputs are made of.
func TestDigestGuess(t *testing.T) {
	const pin = "4711"

	secret := []byte("0123456789abcdef0123456789abcdef")
	of := func(pin string) Inputs {
		return Inputs{
			Parameters: common.AnsibleRunParameters{Role: "acme.web.page"},
			VarFiles:   []File{{Name: "vars", Data: []byte("pin: " + pin + "\n"), Secret: true}},
		}
	}
	sum := func(key []byte, pin string) string {
		d, err := of(pin).Digest(key, nil, nil, nil)
		needs.OK(t, err)

		return d[strings.LastIndexByte(d, '.')+1:]
	}
	guess := func(key []byte, shown string) string {
		for n := range 10000 {
			if pin := fmt.Sprintf("%04d", n); sum(key, pin) == shown {
				return pin
			}
		}

		return ""
	}

	own := ObjectKey(secret, "uid")
	shown := sum(own, pin)

	public, err := of("").Digest(own, nil, nil, nil)
	needs.OK(t, err)

	for name, tc := range map[string]struct {
		reason string
		key    []byte
		want   string
	}{
		"Provider":    {reason: "The provider knows the key, and so this test could find the secret.", key: own, want: pin},
		"None":        {reason: "Nobody else does: there is one."},
		"Empty":       {reason: "An object has a key of its own, but only the provider can make it.", key: ObjectKey(nil, "uid")},
		"Fingerprint": {reason: "What is shown of the key is not the key.", key: []byte(strings.Split(public, ".")[1])},
		"Shown":       {reason: "Nor is the digest.", key: []byte(shown)},
		"UID":         {reason: "Nor what the object is called.", key: []byte("uid")},
		"Another":     {reason: "Who may create objects can have the provider make digests of guesses, but with another key.", key: ObjectKey(secret, "another")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, guess(tc.key, shown)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}
