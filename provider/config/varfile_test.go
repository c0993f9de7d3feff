package config

import (
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRawVars has keys that cannot be variables: what would not reach the content is an error.
func TestRawVars(t *testing.T) {
	for want, data := range map[string]map[string][]byte{
		`keys "tls-crt" and "tls.crt" are both the variable tls_crt: name each in an item of its own, with variable`: {"tls.crt": nil, "tls-crt": nil},
		`key "ansible-provider.meta" is the provider's own variable`:                                                 {"ansible-provider.meta": nil},
		`key "store.jks" is not text in UTF-8: name the other keys, each in an item of its own, with variable`:       {"a": nil, "store.jks": {0x80}},
	} {
		if _, err := rawVars(data, ""); err == nil || err.Error() != want {
			t.Errorf("rawVars(...): want error %q, got %v", want, err)
		}
	}

	if _, err := rawVars(map[string][]byte{"store.jks": {0x80}}, "a"); err == nil || err.Error() != "is not text in UTF-8" {
		t.Errorf("rawVars(...): got error %v", err)
	}
}

func TestCheckVars(t *testing.T) {
	// Whatever is wrong with a file, this must not be said.
	const secret = "s3cret"

	for name, tc := range map[string]struct {
		reason, data, err string
		empty             bool
	}{
		"YAML":           {"Names to values, whatever they are called.", "camelCase: 1\nwith-dash: {a b: c}\n\"1\": [x]\nünï.cödé: |\n  two\n  lines\nbase: &b {x: 1}\nmore: {<<: *b}\n", "", false},
		"JSON":           {"JSON is variables, too.", `{"a": {"b": [1, null]}}`, "", false},
		"Unprintable":    {"Ansible reads JSON as JSON, which may have any character.", "{\"a\": \"\x7f\"}", "", false},
		"Markers":        {"A document may be marked as one.", "\ufeff---\na: 1\n...\n", "", false},
		"Vault":          {"Ansible decrypts files and values.", "$ANSIBLE_VAULT;1.1;AES256\n3132\n", "", false},
		"VaultValue":     {"Ansible decrypts files and values.", "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3132\nb: !unsafe '{{ x }}'\n", "", false},
		"Unsafe":         {"A file may be marked as a whole.", "!unsafe {a: 1}\n", "", false},
		"Tags":           {"YAML has tags, too.", "a: !!binary aGk=\nb: !!set {x, y}\nc: ! x\n", "", false},
		"Nothing":        {"A file may be empty.", "", "", true},
		"Comment":        {"A file may say nothing.", "# a\n---\n", "", true},
		"Null":           {"A file may say nothing in JSON.", "null\n", "", true},
		"Mapping":        {"An empty mapping is one.", "{}", "", false},
		"List":           {"A list has no names.", "\n- " + secret + "\n", "is not a mapping of names to values (line 2)", false},
		"ListJSON":       {"A list has no names in JSON.", `["` + secret + `"]`, "is not a mapping of names to values", false},
		"Text":           {"Text is no variable.", secret, "is a single value, not a mapping of names to values (line 1): pass it with env", false},
		"Malformed":      {"The line is said, what is on it is not.", "a: 1\nb: [" + secret + "\nc: 2\n", "is not valid YAML (line 2)", false},
		"MalformedFirst": {"The parser does not name the first line.", `a: "\q` + secret + `"`, "is not valid YAML (line 1)", false},
		"MalformedText":  {"Both stages of the parser count from 1.", "a: 1\nb: " + secret + "\n c: 2\n", "is not valid YAML (line 3)", false},
		"UnknownAnchor":  {"The parser would quote the anchor.", "a: *" + secret, "is not valid YAML: it refers to an anchor that is not there", false},
		"MalformedJSON":  {"What is no JSON may be YAML, and is not.", "{\"a\": \"" + secret + "\",\n\"b\": ]}", "is not valid YAML (line 2)", false},
		"Binary":         {"A Secret may hold anything.", "a: \xff\xfe", "is not text in UTF-8", false},
		"Control":        {"YAML has no control characters, and Ansible's parser no DEL.", "a: 1\nb: x\x7f\n", "is not valid YAML: it has a control character (line 2)", false},
		"Documents":      {"Two documents are ambiguous.", "a: 1\n---\nb: 2\n", "is not a single YAML document", false},
		"MalformedRest":  {"What follows a document must not be ignored.", "a: 1\n---\nb: [" + secret + "\n", "is not valid YAML (line 3)", false},
		"UnknownTag":     {"Ansible would show the line and those around it.", "a: 1\nb: !" + secret + " x\n", "has a tag that Ansible does not know (line 2)", false},
		"KeyIsList":      {"Python has no such keys.", "a:\n  ? [" + secret + "]\n  : 1\n", "has a key that is neither text nor a number (line 2)", false},
		"Template":       {"To YAML a template without quotes is a mapping, as in a password that is no file of variables at all.", secret + ": {{ word }} #1\n", "has a mapping for a key (line 1): quote a value with {{, and pass a single value with env", false},
		"NameIsNumber":   {"Nothing can refer to a variable that is called by a number.", "1: " + secret, "has a name that is not a string (line 1): quote it", false},
		"NameIsBoolean":  {"To Ansible, on is true.", "a: 1\non: " + secret, "has a name that is not a string (line 2): quote it", false},
		"QuotedName":     {"In quotes, it is not.", `"on": 1`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			empty, err := checkVars([]byte(tc.data))
			if got := needs.Message(err); got != tc.err || empty != tc.empty || strings.Contains(got, secret) {
				t.Errorf("\n%s\ncheckVars(...): want %t, %q, got %t, %q", tc.reason, tc.empty, tc.err, empty, got)
			}
		})
	}
}
