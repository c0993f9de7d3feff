package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestString(t *testing.T) {
	cases := map[string]struct {
		reason  string
		secrets []string
		text    string
		want    string
	}{
		"None": {
			reason: "A redactor that knows no secret changes nothing.",
			text:   "a text",
			want:   "a text",
		},
		"Whole": {
			reason:  "A file without structure is a secret as a whole.",
			secrets: []string{"s3cr3t\n"},
			text:    "login with s3cr3t failed, s3cr3t!",
			want:    "login with ******** failed, ********!",
		},
		"Line": {
			reason:  "Each line of a file is a secret.",
			secrets: []string{"-----BEGIN-----\nMIIEabc\nMIIEdef\n"},
			text:    "key: MIIEdef",
			want:    "key: ********",
		},
		"Leaf": {
			reason:  "Each scalar of a variable file is a secret; its names are not.",
			secrets: []string{"password: \"a\\\"b c\"\nport: 54321\nlist: [{deep: down1}]\n"},
			text:    `password a"b c on 54321 down1 deep`,
			want:    "password ******** on ******** ******** deep",
		},
		"Documents": {
			reason:  "All documents of a file are read.",
			secrets: []string{"a: first\n---\nb: second\n"},
			text:    "first second",
			want:    "******** ********",
		},
		"JSON": {
			reason:  "A variable file may be JSON.",
			secrets: []string{`{"a": {"b": "hunter2"}}`},
			text:    "hunter2",
			want:    "********",
		},
		"Longest": {
			reason:  "A secret that begins like another is replaced to its end.",
			secrets: []string{"pass", "password1"},
			text:    "password1 pass",
			want:    "******** ********",
		},
		"Short": {
			reason:  "Values too short or too common to be secret are left, or reports would be unreadable.",
			secrets: []string{"a: abc\nb: true\nc: localhost\n"},
			text:    "abc true localhost",
			want:    "abc true localhost",
		},
		"Word": {
			reason:  "A short word is a secret on its own only.",
			secrets: []string{"ansible_connection: local\n"},
			text:    "local localhost nonlocal x-local=local",
			want:    "******** localhost nonlocal x-********=********",
		},
		"Inventory": {
			reason:  "The values in an inventory are secrets.",
			secrets: []string{"[web]\nh1 ansible_host=10.1.2.3 ansible_password='pass word'\nh2 ansible_user=\"admin\"\n"},
			text:    "h1 (10.1.2.3) rejects pass word of admin",
			want:    "h1 (********) rejects ******** of ********",
		},
		"Credentials": {
			reason:  "The password in a URL, and in a .netrc, is a secret.",
			secrets: []string{"https://me:t0ken-1@git.example.org\n", "machine example.org login me password t0ken-2\n"},
			text:    "t0ken-1 t0ken-2 git.example.org",
			want:    "******** ******** git.example.org",
		},
		"Escaped": {
			reason:  "A secret is found as it is escaped in JSON, in UTF-8 and in ASCII.",
			secrets: []string{"pä\"ss\n\twörd"},
			text:    `{"a": "pä\"ss\n\twörd", "b": "p\u00e4\"ss\n\tw\u00f6rd"}`,
			want:    `{"a": "********", "b": "********"}`,
		},
		"URL": {
			reason:  "A secret is found in URLs.",
			secrets: []string{"p@ss/word 1"},
			text:    url.QueryEscape("p@ss/word 1") + " " + url.PathEscape("p@ss/word 1"),
			want:    "******** ********",
		},
		"Shell": {
			reason:  "A secret is found as it is quoted for a shell, by Python and by hand.",
			secrets: []string{"it's me"},
			text:    `echo 'it'"'"'s me' 'it'\''s me'`,
			want:    `echo '********' '********'`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := make([][]byte, len(tc.secrets))
			for i, s := range tc.secrets {
				files[i] = []byte(s)
			}

			got := New(files...).String(tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nString(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStringZero(t *testing.T) {
	if diff := cmp.Diff("text", Redactor{}.String("text")); diff != "" {
		t.Errorf("The zero value redacts nothing.\nString(...): -want, +got:\n%s", diff)
	}
}

func TestStringBase64(t *testing.T) {
	const secret = "correct horse battery"

	r := New([]byte(secret))

	for before := range 4 {
		for after := range 4 {
			text := strings.Repeat("<", before) + secret + strings.Repeat(">", after)

			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
				got := r.String(enc.EncodeToString([]byte(text)))
				if !strings.Contains(got, Mask) || len(got) > len(Mask)+12 {
					t.Errorf("A secret in base64 is found wherever it starts.\nString(base64(%q)): got %q", text, got)
				}
			}
		}
	}
}

func TestJSON(t *testing.T) {
	cases := map[string]struct {
		reason string
		secret string
		raw    string
		want   string
	}{
		"Leaves": {
			reason: "Strings, keys and numbers are redacted; the rest, and the exact numbers, stay.",
			secret: "a: hunter2\nb: 54321\n",
			raw:    `{"hunter2": ["x hunter2", 54321, 12345678901234567890, true, null]}`,
			want:   `{"********":["x ********","********",12345678901234567890,true,null]}`,
		},
		"NotJSON": {
			reason: "Anything else becomes a redacted string.",
			secret: "hunter2",
			raw:    `{hunter2`,
			want:   `"{********"`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := New([]byte(tc.secret)).JSON(json.RawMessage(tc.raw))
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s\nJSON(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func BenchmarkString(b *testing.B) {
	var files [][]byte
	for i := range 1000 {
		files = append(files, fmt.Appendf(nil, "password: secret-%d-%d\n", i, i*i))
	}

	r := New(files...)
	text := strings.Repeat("a long line without anything in it that matters ", 2000)

	for b.Loop() {
		r.String(text)
	}
}
