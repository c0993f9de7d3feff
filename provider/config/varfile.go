package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// notInNames matches a character that the name of a variable cannot have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_]`)

// rawVars returns a file with the values of keys as variables, which Ansible does not template. If variable is set, the
// only key has that name. The tag is on the mapping: ansible-core 2.19 forgets the quotes of a tagged string, and reads
// "yes" as a boolean. Empty lines separate each name from the value before it: Ansible warns of a name such as port by
// showing its line and the two lines before. The error never quotes values.
func rawVars(data map[string][]byte, variable string) ([]byte, error) {
	var b bytes.Buffer

	keys := map[string]string{}

	for _, key := range slices.Sorted(maps.Keys(data)) {
		name := cmp.Or(variable, variableOf(key))

		switch other, taken := keys[name]; {
		case taken:
			return nil, errors.Errorf("keys %q and %q are both the variable %s: name each in an item of its own, with "+
				"variable", other, key, name)
		case name == common.ProviderVariable:
			return nil, errors.Errorf("key %q is the provider's own variable", key)
		case !utf8.Valid(data[key]) && variable != "":
			return nil, errors.New("is not text in UTF-8")
		case !utf8.Valid(data[key]):
			return nil, errors.Errorf("key %q is not text in UTF-8: name the other keys, each in an item of its own, with "+
				"variable", key)
		}

		keys[name] = key
		fmt.Fprintf(&b, "\n\n\n%s:\n%s,", yamltext.Quote(name), yamltext.Quote(string(data[key])))
	}

	if len(keys) == 0 {
		return nil, nil
	}

	return []byte("!unsafe {" + b.String() + "}\n"), nil
}

// variableOf returns the name of the variable for a key. A name cannot begin with a digit.
func variableOf(key string) string {
	name := notInNames.ReplaceAllString(key, "_")
	if name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}

	return name
}

// checkVars returns an error for a file of variables that is not a mapping of names to values, or that Ansible could
// not load. Empty is true for a file without variables. The file and values in it may be encrypted by Ansible Vault.
// The error never quotes the file, which may be secret; Ansible's own errors do.
func checkVars(data []byte) (empty bool, err error) {
	switch {
	case bytes.HasPrefix(data, []byte(inputs.VaultHeader)):
		return false, nil
	case !utf8.Valid(data):
		return false, errors.New("is not text in UTF-8")
	case json.Valid(data):
		return checkJSON(data)
	}

	root, err := yamltext.Parse(string(data))

	switch {
	case errors.Is(err, yamltext.ErrMany):
		return false, errors.New("is not a single YAML document")
	case err != nil:
		return false, errors.New("is not valid YAML" + position(data, err))
	case root == nil, root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return true, nil
	case root.Kind == yaml.ScalarNode:
		return false, errors.Errorf("is a single value, not a mapping of names to values (line %d): pass it with env",
			root.Line)
	case root.Kind != yaml.MappingNode:
		return false, errors.Errorf("is not a mapping of names to values (line %d)", root.Line)
	}

	if err := checkNames(root); err != nil {
		return false, err
	}

	return false, checkNode(root)
}

// checkJSON checks a JSON file. Ansible tries JSON before YAML.
func checkJSON(data []byte) (empty bool, err error) {
	var vars map[string]json.RawMessage
	if json.Unmarshal(data, &vars) != nil {
		return false, errors.New("is not a mapping of names to values")
	}

	return vars == nil, nil
}

// parserLine matches the line in an error of the YAML parser. The messages in the second group are of a stage that
// counts lines from 0.
var parserLine = regexp.MustCompile(`^yaml: line (\d+): (did not find expected (?:key|node|'-'|','|<))?`)

// position returns the line of an error of the parser, without the error's text, which may quote the file.
func position(data []byte, err error) string {
	line := 1 // The parser does not name the first line.

	switch m := parserLine.FindStringSubmatch(err.Error()); {
	case m != nil:
		line, _ = strconv.Atoi(m[1])
		if m[2] != "" {
			line++
		}
	case strings.Contains(err.Error(), "control characters"):
		i := bytes.IndexFunc(data,
			func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) })

		return fmt.Sprintf(": it has a control character (line %d)", bytes.Count(data[:max(i, 0)], []byte("\n"))+1)
	case strings.Contains(err.Error(), "unknown anchor"):
		return ": it refers to an anchor that is not there"
	case !strings.HasPrefix(err.Error(), "yaml: "):
		return ""
	}

	return fmt.Sprintf(" (line %d)", line)
}

// checkNames returns an error for a name that Ansible does not read as a string: no template could refer to such a
// variable.
func checkNames(mapping *yaml.Node) error {
	bools := []string{"on", "off", "yes", "no"}

	for i := 0; i < len(mapping.Content); i += 2 {
		k := mapping.Content[i]
		plain := k.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0

		switch tag := k.ShortTag(); {
		case k.Kind == yaml.AliasNode, tag == "!!merge":
		case tag != "!!str", plain && slices.Contains(bools, strings.ToLower(k.Value)):
			return errors.Errorf("has a name that is not a string (line %d): quote it", k.Line)
		}
	}

	return nil
}

// checkNode returns an error for a node that PyYAML, as Ansible configures it, cannot read as a value.
func checkNode(n *yaml.Node) error {
	if !knownTag(n.Tag) {
		return errors.Errorf("has a tag that Ansible does not know (line %d)", n.Line)
	}

	for i, c := range n.Content {
		switch isKey := n.Kind == yaml.MappingNode && i%2 == 0; {
		case isKey && c.Kind == yaml.MappingNode:
			return errors.Errorf("has a mapping for a key (line %d): quote a value with {{, and pass a single value with env",
				c.Line)
		case isKey && c.Kind == yaml.SequenceNode:
			return errors.Errorf("has a key that is neither text nor a number (line %d)", c.Line)
		}

		if err := checkNode(c); err != nil {
			return err
		}
	}

	return nil
}

// knownTag is true for the tags of YAML and of Ansible's AnsibleConstructor.
func knownTag(tag string) bool {
	return slices.Contains([]string{
		"", "!", "!unsafe", "!vault", "!vault-encrypted",
		"!!binary", "!!bool", "!!float", "!!int", "!!map", "!!merge", "!!null", "!!omap", "!!pairs", "!!seq",
		"!!set", "!!str",
		"!!timestamp",
	}, tag)
}
