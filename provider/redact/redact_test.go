package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

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
		"TokenOfUser": {
			reason:  "A token in the place of a user is a secret, whatever password is beside it.",
			secrets: []string{"https://0123456789abcdef0123:x-oauth-basic@git.example.org\n"},
			text:    "0123456789abcdef0123",
			want:    "********",
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
		"Case": {
			reason:  "Changing the case of a long secret does not hide it; a short one in another case is another word.",
			secrets: []string{"Correct-Horse-42", "Blue1"},
			text:    "CORRECT-HORSE-42 correct-horse-42 Correct-horse-42 blue1 Blue1",
			want:    "******** ******** ******** blue1 ********",
		},
		"Script": {
			reason:  "The strings in a script are secrets.",
			secrets: []string{"#!/bin/sh\nlogin \"a \\\"secret\\\"\" 'another one'\n"},
			text:    `a "secret" and another one`,
			want:    "******** and ********",
		},
		"Other letters": {
			reason:  "So it is with letters that are not in ASCII, escaped or not.",
			secrets: []string{"Äpfel-und-öl→"},
			text:    `ÄPFEL-UND-ÖL→ äpfel-und-öl→ \u00c4PFEL-UND-\u00d6L\u2192 %C3%84PFEL-UND-%C3%96L%E2%86%92`,
			want:    `******** ******** \******** ********`,
		},
		"Wrapped": {
			reason:  "A long secret is found when it is broken into lines, with or without the space that was there.",
			secrets: []string{"correct horse battery staple"},
			text:    "a correct horse\nbattery sta\n    ple b\r\n\"correct\\nhorse battery staple\" correcthorsebatterystaple",
			want:    "a ******** b\r\n\"********\" ********",
		},
		"Escaped twice": {
			reason:  "JSON in JSON, as results of results are, escapes a secret as often.",
			secrets: []string{`pa"ss\wo\rd`},
			text:    `{"a": "{\"b\": \"pa\\\"ss\\\\wo\\\\rd\"}"} 'pa"ss\\wo\\rd'`,
			want:    `{"a": "{\"b\": \"********\"}"} '********'`,
		},
		"Python": {
			reason:  "Python and YAML escape what is not ASCII in their own ways.",
			secrets: []string{"pässwörd→x"},
			text:    `p\xe4ssw\xf6rd\u2192x "p\u00e4ssw\u00f6rd\u2192x"`,
			want:    `******** "********"`,
		},
		"HTML": {
			reason:  "Web servers quote what they were asked for.",
			secrets: []string{`a<b>&"c"'d`},
			text:    "a&lt;b&gt;&amp;&#34;c&#34;&#39;d",
			want:    "********",
		},
		"Every byte": {
			reason:  "Any byte may be encoded in a URL, and Ansible's urlencode leaves slashes alone.",
			secrets: []string{"hunter/2 hunter"},
			text:    "%68%75%6e%74%65%72%2F%32%20%68%75%6e%74%65%72 hunter/2%20hunter hunter/2+hunter",
			want:    "******** ******** ********",
		},
		"Hexadecimal": {
			reason:  "So may the whole.",
			secrets: []string{"hunter2hunter2"},
			text:    hex.EncodeToString([]byte("a hunter2hunter2 b")),
			want:    "6120********2062",
		},
		"Wrapped base64": {
			reason:  "The base64 of Unix breaks lines.",
			secrets: []string{"correct horse battery staple, and so on, until it is longer than a line of base64"},
			text:    "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSwgYW5kIHNvIG9uLCB1bnRpbCBpdCBpcyBsb25n\nZXIgdGhhbiBhIGxpbmUgb2YgYmFzZTY0Cg==",
			want:    "********Cg==",
		},
		"Indented": {
			reason:  "A key is found as a block of YAML.",
			secrets: []string{"-----BEGIN-----\nMIIE\nabc\n-----END-----\n"},
			text:    "key: |\n  -----BEGIN-----\n  MIIE\n  abc\n  -----END-----\n",
			want:    "key: |\n  ********\n",
		},
		"Overlapping": {
			reason:  "Secrets that overlap leave nothing between them.",
			secrets: []string{"abcdefgh", "efghijkl"},
			text:    "abcdefghijkl",
			want:    "********",
		},
		"Behind a backslash": {
			reason:  "A backslash before a secret is not an escape of its first letter.",
			secrets: []string{"robert-tables"},
			text:    `DOMAIN\robert-tables`,
			want:    `DOMAIN\********`,
		},
		"Blank": {
			reason:  "White space is no secret.",
			secrets: []string{"        "},
			text:    "a        b",
			want:    "a        b",
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

// TestExcess has more secrets than can be looked for, at once and one after another. Nothing is shown then.
func TestExcess(t *testing.T) {
	var file strings.Builder
	for i := range maxSecrets + 1 {
		fmt.Fprintf(&file, "%08d\n", i)
	}

	r := New([]byte("hunter2"))
	for i := 0; i < maxSecrets; i += 1000 {
		lines := strings.SplitAfter(file.String(), "\n")[i : i+1000]
		r = r.With([]byte(strings.Join(lines, "")))
	}

	for name, r := range map[string]Redactor{"AtOnce": New([]byte(file.String())), "OneByOne": r} {
		if !r.Excess() {
			t.Errorf("%s: Excess(): got false", name)
		}

		if got := r.With([]byte("more")).String("hunter2, 00000001 and others"); got != Mask {
			t.Errorf("%s: String(...): got %q", name, got)
		}

		if got := string(r.JSON(json.RawMessage(`{"a": [1, "00000001"]}`))); got != `{"********":["********","********"]}` {
			t.Errorf("%s: JSON(...): got %s", name, got)
		}

		if got := r.String(""); got != "" {
			t.Errorf("%s: String(\"\"): got %q", name, got)
		}
	}

	if r := New([]byte(strings.Join(strings.SplitAfter(file.String(), "\n")[:maxSecrets/2], ""))); r.Excess() || r.String("hello") != "hello" {
		t.Error("Half as many can be looked for.")
	}
}

// FuzzString hides a secret in a text.
func FuzzString(f *testing.F) {
	f.Add("hunter2hunter2", "before ", " after")
	f.Add("a: 1\nb: [tw o\\n, 'three']\n", "%4", "1\\")
	f.Add("pä\"ss\x00\n\twörd", "\\", "n")

	f.Fuzz(func(t *testing.T, secret, before, after string) {
		r := New([]byte(secret))
		text := before + secret + after
		got := r.String(text)

		if len(newView(secret).text) >= minLong && !strings.Contains(secret, "*") && strings.Contains(got, secret) {
			t.Errorf("String(%q): got %q, with the secret %q", text, got, secret)
		}

		if utf8.ValidString(secret) && utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("String(%q): got %q, which is not UTF-8", text, got)
		}

		if got := (Redactor{}).String(text); got != text {
			t.Errorf("String(%q): got %q without any secret", text, got)
		}

		raw := r.JSON(json.RawMessage(text))
		if len(raw) > 0 && len(r.exact) > 0 && !json.Valid(raw) {
			t.Errorf("JSON(%q): got %q, which is not JSON", text, raw)
		}
	})
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

// BenchmarkManySecrets is what a tenant can do to others with Secrets and a play
// that displays how all of them start.
func BenchmarkManySecrets(b *testing.B) {
	var file strings.Builder
	for i := range maxSecrets/2 - 1 {
		fmt.Fprintf(&file, "- secret-secret-%d\n", i)
	}

	r := New([]byte(file.String()))
	text := strings.Repeat("secret-", 40000)

	for b.Loop() {
		r.String(text)
	}
}
