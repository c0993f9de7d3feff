// Package ansible checks names and values that come from XRs, and writes inventories with values that Ansible does not
// template. The authors of XRs are not trusted: their names and values must not run commands in the provider.
package ansible

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Forms of names from XRs.
var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	hostName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// address matches a host name, an IPv4 or an IPv6 address, but no option of ssh.
	address   = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9_.:-]*$`)
	hostPort  = regexp.MustCompile(`:[0-9]+$`)
	noGroup   = regexp.MustCompile(`[^A-Za-z0-9_]`)
	hostRange = regexp.MustCompile(`\[[0-9A-Za-z]*:[0-9A-Za-z]+(:[0-9]+)?\]`)
	account   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@\\-]*\$?$`)
	// localName matches names of the local machine in files such as /etc/hosts.
	localName = regexp.MustCompile(`^(ip6-)?(localhost|loopback)[46]?(\.|$)|\.localhost$`)
)

// MaxName is the length of the longest name from an XR, in bytes.
const MaxName = 253

// Prefixes of variables that configure how Ansible connects and which programs it executes. Some of these variables run
// commands on the controller.
const (
	prefixAnsible  = "ansible_"
	prefixInternal = "_ansible_"
)

// reserved has names that mean something to Ansible or Jinja2: magic variables, functions, and keywords. TestSpecial
// compares it with Ansible.
// https://docs.ansible.com/ansible/latest/reference_appendices/special_variables.html
var reserved = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"environment", "group_names", "groups", "hostvars", "inventory_dir", "inventory_file", "inventory_hostname",
	"inventory_hostname_short", "play_hosts", "playbook_dir", "role_name", "role_names", "role_path", "role_uuid", "vars",
	"cycler", "dict", "joiner", "lipsum", "lookup", "namespace", "now", "omit", "q", "query", "range", "undef",
	"and", "else", "false", "False", "if", "in", "is", "none", "None", "not", "or", "self", "true", "True",
}

// CheckWord returns an error for true and false, which YAML makes of other words without quotes.
func CheckWord(name string) error {
	if name == "true" || name == "false" {
		return errors.Errorf("%s is what YAML makes of words such as y, n, on and off: write the name in quotes", name)
	}

	return nil
}

// CheckKey returns an error for a name that cannot be the name of a variable, even in a Composition.
func CheckKey(name string) error {
	if !identifier.MatchString(name) || len(name) > MaxName {
		return errors.Errorf("%.80q cannot be the name of a variable: it must be an identifier", name)
	}

	return CheckWord(name)
}

// CheckVariable returns an error for a name from an XR that must not be the name of a variable.
func CheckVariable(name string) error {
	if err := CheckKey(name); err != nil {
		return err
	}

	if slices.Contains(reserved[:], name) {
		return errors.Errorf("%q cannot be the name of a variable: it has a meaning to Ansible", name)
	}

	for _, prefix := range []string{prefixAnsible, prefixInternal} {
		if strings.HasPrefix(name, prefix) {
			return errors.Errorf("%.80q cannot be the name of a variable: those that start with %s are Ansible's own",
				name, prefix)
		}
	}

	return nil
}

// CheckHost returns an error for a name from an XR that must not be the name of a host.
func CheckHost(name string) error {
	switch {
	case !hostName.MatchString(name) || len(name) > MaxName:
		return errors.Errorf(
			"%.80q cannot be the name of a host: it must be letters, digits, '_', '.' and '-', and not start with '-' or '.'",
			name)
	case isProvider(name):
		return errors.Errorf(
			"%q cannot be the name of a host: it is the provider itself, where a run without an inventory works", name)
	}

	return nil
}

// Names is a set of the hosts and groups in literal inventories. The zero value has the groups all and ungrouped.
type Names struct {
	names  map[string]bool
	ranges []*regexp.Regexp
}

// Add adds a name as an inventory has it, which may have a port, or ranges such as web[01:20]. A range adds all names
// of its form, also those out of its bounds. Names are also added with _ for characters that identifiers cannot have,
// since Ansible may be configured to convert the names of groups.
// https://docs.ansible.com/projects/ansible/latest/inventory_guide/intro_inventory.html#adding-ranges-of-hosts
func (n *Names) Add(name string) {
	if n.names == nil {
		n.names = map[string]bool{}
	}

	name = hostPort.ReplaceAllString(name, "")
	n.names[name] = true
	n.names[noGroup.ReplaceAllString(name, "_")] = true

	if parts := hostRange.Split(name, -1); len(parts) > 1 {
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}

		n.ranges = append(n.ranges, regexp.MustCompile("^"+strings.Join(parts, "[0-9A-Za-z]+")+"$"))
	}
}

// Has is true for a name in the set.
func (n *Names) Has(name string) bool {
	return name == "all" || name == "ungrouped" || n.names[name] ||
		slices.ContainsFunc(n.ranges, func(r *regexp.Regexp) bool { return r.MatchString(name) })
}

// isProvider is true for names and addresses of the machine that Ansible runs on. Ansible runs tasks for such a host on
// that machine without a connection. Some actions do so if only the address of the host is local.
func isProvider(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	ip := net.ParseIP(host)

	return localName.MatchString(host) || strings.HasPrefix(host, "127.") || ip.IsLoopback() || ip.IsUnspecified() ||
		isLocalNumber(host)
}

// isLocalNumber is true for a loopback or the unspecified IPv4 address in a form of inet_aton: one to four numbers,
// decimal, octal or hexadecimal. The last number has all bytes that the others leave.
// https://man7.org/linux/man-pages/man3/inet_aton.3.html
func isLocalNumber(host string) bool {
	const octet, loopback = 8, 127

	numbers := strings.Split(host, ".")
	address, left := uint64(0), net.IPv4len*octet

	for i, s := range numbers {
		left -= octet
		if i == len(numbers)-1 {
			left = 0
		}

		n, err := strconv.ParseUint(s, 0, net.IPv4len*octet)
		if err != nil || left < 0 {
			return false
		}

		address |= n << left
	}

	return address == 0 || address>>(net.IPv4len*octet-octet) == loopback
}

// CheckGroup returns an error for a name from an XR that must not be the name of a group.
func CheckGroup(name string) error {
	switch {
	case !identifier.MatchString(name) || len(name) > MaxName:
		return errors.Errorf("%.80q cannot be the name of a group: it must be an identifier", name)
	case name == "plugin":
		return errors.Errorf(
			"%q cannot be the name of a group: it makes Ansible take the inventory for the configuration of a plugin", name)
	}

	return nil
}

// IsComputable is true for a variable with a value that may come from an XR. Variables that configure how Ansible
// connects and which programs it executes must be literal.
func IsComputable(name string) bool {
	if !strings.HasPrefix(name, prefixAnsible) && !strings.HasPrefix(name, prefixInternal) {
		return true
	}

	return IsConnection(name) || name == operatorMeta
}

// operatorMeta is the variable with the name and namespace of the object that the content of an Ansible operator
// reconciles. Ansible itself does not use it.
const operatorMeta = "ansible_operator_meta"

// IsConnection is true for Ansible's variables for the address, port, user and passwords of a connection.
// CheckConnection checks their values.
func IsConnection(name string) bool {
	switch name {
	case "ansible_host", "ansible_port", "ansible_user", "ansible_password", "ansible_become_password":
		return true
	}

	return false
}

// CheckConnection returns an error for a value from an XR that must not be the value of a connection variable. Most
// values become arguments of ssh. A program that asks for a password would read the lines after the first one as its
// input.
func CheckConnection(name string, v any) error {
	s, _ := v.(string)

	switch name {
	case "ansible_host":
		if !address.MatchString(s) || len(s) > MaxName {
			return errors.Errorf("%s is not the address of a host", manifest.Show(v))
		}

		if isProvider(s) {
			return errors.Errorf("%q is the address of the provider itself, where a run without an inventory works", s)
		}
	case "ansible_user":
		if !account.MatchString(s) || len(s) > MaxName {
			return errors.Errorf("%s is not the name of a user", manifest.Show(v))
		}
	case "ansible_port":
		if n, ok := v.(float64); !ok || n != float64(int(n)) || len(validation.IsValidPortNum(int(n))) > 0 {
			return errors.Errorf("%s is not the number of a port", manifest.Show(v))
		}
	case "ansible_password", "ansible_become_password":
		if strings.ContainsFunc(s, unicode.IsControl) {
			return errors.New("a password is one line of text")
		}
	}

	return nil
}
