package redact

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// of returns the secrets in a file as a set.
func of(file string) *Set { return New(InFile(file, Source{})) }

func TestText(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		set    *Set
		text   string
		want   string
	}{
		"None":      {"A set without secrets masks nothing.", New(nil), "a text", "a text"},
		"Whole":     {"A file without structure is a secret.", of("s3cr3t-1\n"), "login with s3cr3t-1 failed, s3cr3t-1!", "login with ******** failed, ********!"},
		"Line":      {"Each line of a file is a secret, but for the armour of keys.", of("-----BEGIN KEY-----\nMIIEabcd\n"), "-----BEGIN KEY----- MIIEabcd", "-----BEGIN KEY----- ********"},
		"Inside":    {"A secret is masked inside of a word, too.", of("s3cr3t-1"), "xs3cr3t-1x", "x********x"},
		"Short":     {"Short values are not masked, since they are parts of many words.", of("orders\n1234567\n"), "purchase_orders_url 1234567", "purchase_orders_url 1234567"},
		"Common":    {"Some common long words are not masked.", of("production\nLocalhost\n"), "production localhost", "production localhost"},
		"Longest":   {"The longest secret that begins at a place is masked.", of("password-1\npassword-1-2\n"), "password-1-2 password-1", "******** ********"},
		"Overlap":   {"Overlapping secrets share a mask.", of("abcdefgh\nefghijkl\n"), "abcdefghijkl", "********"},
		"JSON":      {"A secret is masked as JSON spells it, in UTF-8 and in ASCII.", of("pä\"sswörd"), `{"a": "pä\"sswörd", "b": "p\u00e4\"ssw\u00f6rd"}`, `{"a": "********", "b": "********"}`},
		"URL":       {"A secret is masked as URLs spell it.", of("p@ss/word 1"), url.QueryEscape("p@ss/word 1") + " " + url.PathEscape("p@ss/word 1") + " p%40ss/word%201", "******** ******** ********"},
		"Long":      {"A long line is masked in pieces.", of(strings.Repeat("ab", 3000)), "<" + strings.Repeat("ab", 3000) + ">", "<********>"},
		"Case":      {"A secret in another case is not masked.", of("Correct-Horse"), "correct-horse", "correct-horse"},
		"Shown":     {"A value in the spec is no secret.", New(InFile("db.example.org\ns3cr3t-1", Source{}), "db.example.org"), "db.example.org s3cr3t-1", "db.example.org ********"},
		"Public":    {"A value that data may contain is masked in text.", New([]Secret{{Text: "db.example.org", Public: true}}), "db.example.org", "********"},
		"Inventory": {"A value in an inventory is a secret if its name says so.", of("h1 ansible_host=10.1.2.3.example.org ansible_password='pass word' ansible_become_pass=hunter22, x=1\n"), "pass word hunter22 10.1.2.3.example.org", "******** ******** 10.1.2.3.example.org"},
		"YAML":      {"A value in YAML is a secret if its name says so.", of("all: {vars: {api_token: t0ken-t0ken}}\nssh_password: correct horse\n"), "t0ken-t0ken, correct horse", "********, ********"},
		"Below":     {"A nested value in YAML is a secret if its name says so.", of("credentials:\n  password: hunter22\n"), "hunter22", "********"},
		"Mapping":   {"A value in a mapping with the name of a secret is a secret.", of("key: {password: hunter22}\n"), "hunter22", "********"},
		"Several":   {"A value after another one in a connection string is a secret.", of("secret=s3cr3t-1;Password=hunter22\n"), "hunter22", "********"},
		"File":      {"A value in JSON is a secret if its name says so.", of(`{"private_key": "-----BEGIN KEY-----\nMIIEabcd\n", "public_key": "AAAAabcd"}`), "MIIEabcd AAAAabcd", "******** AAAAabcd"},
		"Netrc":     {"A password in a .netrc is a secret.", of("machine example.org login me password t0ken-t0ken\n"), "t0ken-t0ken", "********"},
		"InURL":     {"The password in a URL is a secret, and so is a user that is long enough for a token.", of("https://me:t0ken-t0ken@git.example.org\nhttps://0123456789abcdef0123:x-oauth-basic@git.example.org\n"), "t0ken-t0ken 0123456789abcdef0123 git.example.org", "******** ******** git.example.org"},
		"Variables": {"Each scalar of a variable file is a secret; its names are not.", New(InVariables("password: \"a\\\"b c d e\"\nlist: [{deep_list: deep-down}]\n", Source{})), `password a"b c d e deep_list deep-down`, "password ******** deep_list ********"},
		"AsJSON":    {"A variable file may be JSON, with escapes that YAML does not have.", New(InVariables(`{"a": {"b": "\ud83d\ude00 hunter22"}}`, Source{})), "😀 hunter22", "********"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.set.Text(tc.text)); diff != "" {
				t.Errorf("%s\nText(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTextBase64(t *testing.T) {
	const secret = "correct horse battery"

	for before := range 4 {
		for after := range 4 {
			text := strings.Repeat("<", before) + secret + strings.Repeat(">", after)

			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
				got := of(secret).Text(enc.EncodeToString([]byte(text)))
				if !strings.Contains(got, mask) || len(got) > len(mask)+12 {
					t.Errorf("A secret in base64 is found wherever it starts.\nText(base64(%q)): got %q", text, got)
				}
			}
		}
	}
}

// TestIn checks which data contains a secret.
func TestIn(t *testing.T) {
	vars := InVariables("db: {host: db.example.org, pass: s3cret-s3cret, region: eu-central-1}\nadmin: {url: 'https://root:sw0rdfish@db.example.org'}\n", Source{Secret: "db", Key: "vars.yml"})
	set := New(vars, "eu-central-1")
	set.Add(InDetails([]byte(`{"host": "db.example.org", "password": "det4il-det4il", "motto": "open sesame", "token": "open+sesame", "uri": "pg://app:1n-the-url@db", "nested": {"api_token": ["n3sted-n3sted"], "user": "some-body"}}`))...)

	for name, tc := range map[string]struct {
		reason, data string
		want         Source
		secret       bool
	}{
		"Nothing":  {"Most data has no secret.", "hello", Source{}, false},
		"Variable": {"A value of a Secret is found.", "pg://s3cret-s3cret@db", Source{Secret: "db", Key: "vars.yml"}, true},
		"Encoded":  {"A value of a Secret is found in base64.", base64.StdEncoding.EncodeToString([]byte("app:s3cret-s3cret")), Source{Secret: "db", Key: "vars.yml"}, true},
		"Shown":    {"A value in the spec is no secret, although a Secret has it, too.", "eu-central-1", Source{}, false},
		"Public":   {"A connection detail with a public name is no secret, although a Secret has it, too.", "db.example.org:5432", Source{}, false},
		"Detail":   {"A connection detail with a secret name is found.", "det4il-det4il", Source{Key: "password"}, true},
		"Alike":    {"A secret detail is found although it is the spelling of a public detail in a URL.", "open+sesame", Source{Key: "token"}, true},
		"AlikeNo":  {"The public detail itself is no secret.", "open sesame", Source{}, false},
		"InURL":    {"The password in a URL is found under any name.", "1n-the-url", Source{Key: "uri"}, true},
		"Nested":   {"A nested connection detail is found.", "n3sted-n3sted", Source{Key: "nested"}, true},
		"NestedNo": {"A nested connection detail with a public name is no secret.", "some-body", Source{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, secret := set.In(tc.data)
			if diff := cmp.Diff(tc.want, got); diff != "" || secret != tc.secret {
				t.Errorf("%s\nIn(%q): %t; -want, +got:\n%s", tc.reason, tc.data, secret, diff)
			}
		})
	}
}

// TestInDetails checks which names of connection details say that the value is secret.
func TestInDetails(t *testing.T) {
	for names, public := range map[string]bool{
		"password passwords clientSecret secret_id secretId private_key_pem apiKey token-2 kubeconfig kubeConfig.yaml admin.kubeconfig " +
			"dsn DATABASE_DSN connectionString connection_string id_rsa id_ed25519 credentials aws_credentials_file public_key_password": false,
		"host port endpoint username user uri public_key publicKey public_key_pem ssh_public_keys id_rsa.pub tokenizer keyboard_layout " +
			"passenger secretary dsnap valid_rsa version": true,
	} {
		for name := range strings.FieldsSeq(names) {
			got := InDetails([]byte(`{"` + name + `": "hunter22"}`))
			want := Secret{Text: "hunter22", From: Source{Key: name}, Public: public}

			if diff := cmp.Diff([]Secret{want}, got, cmp.AllowUnexported(Secret{})); diff != "" {
				t.Errorf("InDetails(%q): -want, +got:\n%s", name, diff)
			}
		}
	}
}

// TestClip checks that a secret at the edge is masked whole, and that the rest of a text is not scanned.
func TestClip(t *testing.T) {
	set := of("s3cret-s3cret")

	for limit := range 40 {
		text := "a message with s3cret-s3cret at its edge"
		if got := set.Clip(text, limit); strings.Contains(got, "s3c") || len(got) > max(limit, len("…")) {
			t.Errorf("Clip(..., %d): got %q", limit, got)
		}

		if got := set.End(text, limit); strings.Contains(got, "ret ") || len(got) > max(limit, len(mask)+limit) {
			t.Errorf("End(..., %d): got %q", limit, got)
		}
	}

	// Each mask is written once, so that an unneeded one would show as memory.
	allocated := func(n int) float64 {
		text := strings.Repeat("s3cret-s3cret ", n)

		return testing.AllocsPerRun(10, func() { _, _ = set.Clip(text, 1000), set.End(text, 1000) })
	}

	if short, long := allocated(1000), allocated(100_000); long > short {
		t.Errorf("A text should take no more work for its length: %v allocations, then %v.", short, long)
	}
}

// TestWork has a secret of one repeated letter, and a text of that letter: no comparison may be as long as the text.
func TestWork(t *testing.T) {
	set := of(strings.Repeat("a", 40_000) + "0")

	for _, x := range set.parts {
		for _, f := range x.forms {
			if len(f.text) > 3*maxPiece {
				t.Fatalf("A form of %d bytes is compared at each letter of a text.", len(f.text))
			}
		}
	}

	if got := set.Text(strings.Repeat("a", 80_000) + "!"); got != mask+"!" {
		t.Errorf("Text(...): got %.40q", got)
	}
}

// TestAdd checks that many additions rebuild few forms.
func TestAdd(t *testing.T) {
	set, made := New(nil), 0

	for i := range 1000 {
		before := slices.Clone(set.parts)
		set.Add(Secret{Text: fmt.Sprintf("s3cret-%04d", i)})

		if last := set.parts[len(set.parts)-1]; !slices.Contains(before, last) {
			made += len(last.forms)
		}
	}

	if most := 12 * 1000 * 12; made > most || len(set.parts) > 12 {
		t.Errorf("%d forms were sorted, in %d parts; want at most %d forms, and 12 parts.", made, len(set.parts), most)
	}

	if got := set.Text("s3cret-0000 s3cret-0999"); got != "******** ********" {
		t.Errorf("Text(...): got %q", got)
	}

	was := of("hunter22")
	was.Clone().Add(Secret{Text: "sw0rdfish"})

	if got := was.Text("sw0rdfish"); got != "sw0rdfish" {
		t.Errorf("A secret that is added to a clone should not be in the set: got %q", got)
	}
}

// TestExcess has more secrets than maxSecrets, in one addition and in several. Then everything is masked.
func TestExcess(t *testing.T) {
	var all []Secret
	for i := range maxSecrets + 1 {
		all = append(all, Secret{Text: fmt.Sprintf("%08d", i)})
	}

	slowly := of("hunter22")
	for some := range slices.Chunk(all, 1000) {
		slowly.Add(some...)
	}

	for name, set := range map[string]*Set{"AtOnce": New(all), "OneByOne": slowly} {
		set.Add(Secret{Text: "one more secret"})

		if _, secret := set.In("hello"); !set.Excess() || !secret || set.Text("hello") != mask || set.Text("") != "" {
			t.Errorf("%s: nothing should be shown.", name)
		}
	}

	if set := New(all[:maxSecrets/2]); set.Excess() || set.Text("hello") != "hello" {
		t.Error("Half as many secrets should not be an excess.")
	}
}

// TestManyNames has a file with many names, each of which could begin a value up to the end of the file.
func TestManyNames(t *testing.T) {
	const mib = 1 << 20

	if got := InFile(strings.Repeat("key=", mib/4), Source{}); len(got) > 2*mib/maxValue {
		t.Errorf("A value should not contain others: got %d values.", len(got))
	}

	if got := InFile(strings.Repeat("key={", mib/5), Source{}); len(got) > 2 {
		t.Errorf("A brace should not begin a value: got %d values.", len(got))
	}
}

// TestBombs parses small Secrets that would take a lot of memory or time.
func TestBombs(t *testing.T) {
	for name, text := range bomb.All("x", bomb.Secret/4) {
		t.Run(name, func(t *testing.T) {
			bomb.Defuse(t, func() { _ = New(slices.Concat(InVariables(text, Source{}), InFile(text, Source{}))).Text("x is y") })
		})
	}
}

// TestMatch compares longest with a simple search through all forms.
func TestMatch(t *testing.T) {
	words := func(most int) []string {
		var all []string
		for n := range 1 << most {
			all = append(all, strings.Repeat("a", minSecret-2)+strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%0*b", most, n)))
		}

		return all
	}

	for step := 1; step < 30; step++ {
		var forms []form

		for n := 2; n < 7; n++ {
			for i := step % n; i < 1<<n; i += step {
				forms = append(forms, form{text: words(n)[i]})
			}
		}

		x := newIndex(slices.Clone(forms))

		for _, text := range words(6) {
			want, got := 0, 0
			for _, f := range forms {
				if strings.HasPrefix(text, f.text) {
					want = max(want, len(f.text))
				}
			}

			if n := x.longest(text); n >= 0 {
				got = len(x.forms[n].text)
			}

			if got != want {
				t.Fatalf("longest(%q) of %v: want %d, got %d", text, forms, want, got)
			}
		}
	}
}

// FuzzText hides a secret in a text.
func FuzzText(f *testing.F) {
	f.Add("hunter2hunter2", "before ", " after")
	f.Add("a: 1\nb: [tw o\\n, 'three']\n", "%4", "1\\")
	f.Add("pä\"ss\x00\n\twörd", "\\", "n")

	f.Fuzz(func(t *testing.T, secret, before, after string) {
		set := New([]Secret{{Text: secret}})
		text := before + secret + after
		got := set.Text(text)

		for _, line := range pieces(secret) {
			if strings.Contains(got, line) && !strings.Contains(line, "*") {
				t.Errorf("Text(%q): got %q, with the secret %q", text, got, line)
			}

			if _, found := set.In(text); !found && utf8.ValidString(text) {
				t.Errorf("In(%q): the secret %q is not found", text, line)
			}
		}

		if utf8.ValidString(secret) && utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("Text(%q): got %q, which is not UTF-8", text, got)
		}
	})
}
