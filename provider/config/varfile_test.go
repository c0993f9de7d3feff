package config

import (
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRawVars has keys that cannot become variables: each is an error.
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
	// The errors must not contain this text of the files.
	const secret = "s3cret"

	for name, tc := range map[string]struct {
		reason, data, err string
		empty             bool
	}{
		"YAML":           {"A mapping may have any names.", "camelCase: 1\nwith-dash: {a b: c}\n\"1\": [x]\nünï.cödé: |\n  two\n  lines\nbase: &b {x: 1}\nmore: {<<: *b}\n", "", false},
		"JSON":           {"A file may be JSON.", `{"a": {"b": [1, null]}}`, "", false},
		"Unprintable":    {"Ansible reads JSON before YAML, so that it may have any character.", "{\"a\": \"\x7f\"}", "", false},
		"Markers":        {"A document may have a byte order mark and document markers.", "\ufeff---\na: 1\n...\n", "", false},
		"Vault":          {"A file may be encrypted by Ansible Vault.", "$ANSIBLE_VAULT;1.1;AES256\n3132\n", "", false},
		"VaultValue":     {"A value may be encrypted by Ansible Vault.", "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3132\nb: !unsafe '{{ x }}'\n", "", false},
		"Unsafe":         {"A whole file may have the tag !unsafe.", "!unsafe {a: 1}\n", "", false},
		"Tags":           {"Standard tags of YAML are allowed.", "a: !!binary aGk=\nb: !!set {x, y}\nc: ! x\n", "", false},
		"Nothing":        {"A file may be empty.", "", "", true},
		"Comment":        {"A file may have only comments.", "# a\n---\n", "", true},
		"Null":           {"A JSON file may be null.", "null\n", "", true},
		"Mapping":        {"An empty mapping is a valid file.", "{}", "", false},
		"List":           {"A list is not a mapping.", "\n- " + secret + "\n", "is not a mapping of names to values (line 2)", false},
		"ListJSON":       {"A JSON list is not a mapping.", `["` + secret + `"]`, "is not a mapping of names to values", false},
		"Text":           {"A text is not a mapping.", secret, "is a single value, not a mapping of names to values (line 1): pass it with env", false},
		"Malformed":      {"The error has the line number, but not the line.", "a: 1\nb: [" + secret + "\nc: 2\n", "is not valid YAML (line 2)", false},
		"MalformedFirst": {"The parser does not name the first line.", `a: "\q` + secret + `"`, "is not valid YAML (line 1)", false},
		"MalformedText":  {"The stage of the parser that counts lines from 1 is not corrected.", "a: 1\nb: " + secret + "\n c: 2\n", "is not valid YAML (line 3)", false},
		"UnknownAnchor":  {"The parser would quote the anchor.", "a: *" + secret, "is not valid YAML: it refers to an anchor that is not there", false},
		"MalformedJSON":  {"Invalid JSON is checked as YAML.", "{\"a\": \"" + secret + "\",\n\"b\": ]}", "is not valid YAML (line 2)", false},
		"Binary":         {"A Secret may hold binary data.", "a: \xff\xfe", "is not text in UTF-8", false},
		"Control":        {"YAML must not have control characters. Ansible's parser refuses DEL, too.", "a: 1\nb: x\x7f\n", "is not valid YAML: it has a control character (line 2)", false},
		"Documents":      {"Two documents are ambiguous.", "a: 1\n---\nb: 2\n", "is not a single YAML document", false},
		"MalformedRest":  {"Text after the document is an error.", "a: 1\n---\nb: [" + secret + "\n", "is not valid YAML (line 3)", false},
		"UnknownTag":     {"An unknown tag is an error here, since Ansible's error would quote the file.", "a: 1\nb: !" + secret + " x\n", "has a tag that Ansible does not know (line 2)", false},
		"KeyIsList":      {"A list cannot be a key in Python.", "a:\n  ? [" + secret + "]\n  : 1\n", "has a key that is neither text nor a number (line 2)", false},
		"Template":       {"A template without quotes is a mapping in YAML, for example in a password that is no file of variables.", secret + ": {{ word }} #1\n", "has a mapping for a key (line 1): quote a value with {{, and pass a single value with env", false},
		"NameIsNumber":   {"No template can refer to a variable with a number as its name.", "1: " + secret, "has a name that is not a string (line 1): quote it", false},
		"NameIsBoolean":  {"Ansible reads the name on as a boolean.", "a: 1\non: " + secret, "has a name that is not a string (line 2): quote it", false},
		"QuotedName":     {"A quoted name is a string.", `"on": 1`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			empty, err := checkVars([]byte(tc.data))
			if got := needs.Message(err); got != tc.err || empty != tc.empty || strings.Contains(got, secret) {
				t.Errorf("\n%s\ncheckVars(...): want %t, %q, got %t, %q", tc.reason, tc.empty, tc.err, empty, got)
			}
		})
	}
}
