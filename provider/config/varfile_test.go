package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	type want struct {
		empty bool
		err   string
	}

	// Whatever is wrong with a file, this must not be said.
	const secret = "s3cret"

	for name, tc := range map[string]struct {
		reason string
		data   string
		want   want
	}{
		"YAML": {
			reason: "Names to values, whatever they are called.",
			data:   "camelCase: 1\nwith-dash: {a b: c}\n\"1\": [x]\nünï.cödé: |\n  two\n  lines\nbase: &b {x: 1}\nmore: {<<: *b}\n",
		},
		"JSON":        {reason: "JSON is variables, too.", data: `{"a": {"b": [1, null]}}`},
		"Unprintable": {reason: "Ansible reads JSON as JSON, which may have any character.", data: "{\"a\": \"\x7f\"}"},
		"Markers":     {reason: "A document may be marked as one.", data: "\ufeff---\na: 1\n...\n"},
		"Vault":       {reason: "Ansible decrypts files and values.", data: "$ANSIBLE_VAULT;1.1;AES256\n3132\n"},
		"VaultValue":  {reason: "Ansible decrypts files and values.", data: "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3132\nb: !unsafe '{{ x }}'\n"},
		"Unsafe":      {reason: "A file may be marked as a whole.", data: "!unsafe {a: 1}\n"},
		"Tags":        {reason: "YAML has tags, too.", data: "a: !!binary aGk=\nb: !!set {x, y}\nc: ! x\n"},
		"Nothing":     {reason: "A file may be empty.", data: "", want: want{empty: true}},
		"Comment":     {reason: "A file may say nothing.", data: "# a\n---\n", want: want{empty: true}},
		"Null":        {reason: "A file may say nothing in JSON.", data: "null\n", want: want{empty: true}},
		"Mapping":     {reason: "An empty mapping is one.", data: "{}"},
		"List": {
			reason: "A list has no names.",
			data:   "\n- " + secret + "\n",
			want:   want{err: "is not a mapping of names to values (line 2)"},
		},
		"ListJSON": {
			reason: "A list has no names in JSON.",
			data:   `["` + secret + `"]`,
			want:   want{err: "is not a mapping of names to values"},
		},
		"Text": {
			reason: "Text is no variable.",
			data:   secret,
			want:   want{err: "is a single value, not a mapping of names to values (line 1): pass it with env"},
		},
		"Malformed": {
			reason: "The line is said, what is on it is not.",
			data:   "a: 1\nb: [" + secret + "\nc: 2\n",
			want:   want{err: "is not valid YAML (line 2)"},
		},
		"MalformedFirst": {
			reason: "The parser does not name the first line.",
			data:   `a: "\q` + secret + `"`,
			want:   want{err: "is not valid YAML (line 1)"},
		},
		"MalformedText": {
			reason: "Both stages of the parser count from 1.",
			data:   "a: 1\nb: " + secret + "\n c: 2\n",
			want:   want{err: "is not valid YAML (line 3)"},
		},
		"UnknownAnchor": {
			reason: "The parser would quote the anchor.",
			data:   "a: *" + secret,
			want:   want{err: "is not valid YAML: it refers to an anchor that is not there"},
		},
		"MalformedJSON": {
			reason: "What is no JSON may be YAML, and is not.",
			data:   "{\"a\": \"" + secret + "\",\n\"b\": ]}",
			want:   want{err: "is not valid YAML (line 2)"},
		},
		"Binary": {
			reason: "A Secret may hold anything.",
			data:   "a: \xff\xfe",
			want:   want{err: "is not text in UTF-8"},
		},
		"Control": {
			reason: "YAML has no control characters, and Ansible's parser no DEL.",
			data:   "a: 1\nb: x\x7f\n",
			want:   want{err: "is not valid YAML: it has a control character (line 2)"},
		},
		"Documents": {
			reason: "Which of two documents is meant, nobody can tell.",
			data:   "a: 1\n---\nb: 2\n",
			want:   want{err: "is not a single YAML document"},
		},
		"MalformedRest": {
			reason: "What follows a document must not be ignored.",
			data:   "a: 1\n---\nb: [" + secret + "\n",
			want:   want{err: "is not valid YAML (line 3)"},
		},
		"UnknownTag": {
			reason: "Ansible would show the line and those around it.",
			data:   "a: 1\nb: !" + secret + " x\n",
			want:   want{err: "has a tag that Ansible does not know (line 2)"},
		},
		"KeyIsList": {
			reason: "Python has no such keys.",
			data:   "a:\n  ? [" + secret + "]\n  : 1\n",
			want:   want{err: "has a key that is neither text nor a number (line 2)"},
		},
		"Template": {
			reason: "To YAML a template without quotes is a mapping, as in a password that is no file of variables at all.",
			data:   secret + ": {{ word }} #1\n",
			want:   want{err: "has a mapping for a key (line 1): quote a value with {{, and pass a single value with env"},
		},
		"NameIsNumber": {
			reason: "Nothing can refer to a variable that is called by a number.",
			data:   "1: " + secret,
			want:   want{err: "has a name that is not a string (line 1): quote it"},
		},
		"NameIsBoolean": {
			reason: "To Ansible, on is true.",
			data:   "a: 1\non: " + secret,
			want:   want{err: "has a name that is not a string (line 2): quote it"},
		},
		"QuotedName": {reason: "In quotes, it is not.", data: `"on": 1`},
	} {
		t.Run(name, func(t *testing.T) {
			empty, err := checkVars([]byte(tc.data))

			got := want{empty, needs.Message(err)}

			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\ncheckVars(...): -want, +got:\n%s", tc.reason, diff)
			}

			if strings.Contains(got.err, secret) {
				t.Errorf("\nWhat is in the file does not get into the error.\ncheckVars(...): %s", got.err)
			}
		})
	}
}
