package vault

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/vaulted"
)

// encrypt a text with ansible-vault under an id, with a password.
func encrypt(t *testing.T, id, password, text string) string {
	t.Helper()

	return vaulted.Text(t, needs.Program(t, "ansible-vault"), id, password, text)
}

func TestDecrypt(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("a secret that takes several lines of hexadecimal, ", 20)
	one, two := encrypt(t, "default", "first", long), encrypt(t, "prod", "second", "s3cret")
	indented := "\n  " + strings.ReplaceAll(two, "\n", "\n  ")
	inJSON := strings.ReplaceAll(two, "\n", `\n`)

	type want struct {
		plain []string
		err   error
	}

	cases := map[string]struct {
		reason   string
		text     string
		password string
		want     want
	}{
		"File":          {reason: "A file may be encrypted as a whole.", text: one, password: "first", want: want{plain: []string{long}}},
		"Values":        {reason: "So may any value, with an id.", text: "a: !vault |" + indented + "\nbad: 1\nb: !vault |" + indented, password: "second", want: want{plain: []string{"s3cret", "s3cret"}}},
		"JSON":          {reason: "In JSON lines are escaped.", text: `{"a": {"__ansible_vault": "` + inJSON + `"}, "b": 1}`, password: "second", want: want{plain: []string{"s3cret"}}},
		"WrongPassword": {reason: "A password of something else is told from one that fits.", text: two, password: "first", want: want{plain: []string{""}, err: ErrPassword}},
		"Nothing":       {reason: "A header is not enough.", text: "$ANSIBLE_VAULT;1.1;AES256\n", password: "first"},
		"Truncated":     {reason: "What was cut off is not decrypted.", text: two[:len(two)-40], password: "second", want: want{plain: []string{""}, err: cmpopts.AnyError}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var got want

			for _, text := range Find([]byte(tc.text)) {
				plain, err := Decrypt(text, tc.password)
				got.plain = append(got.plain, string(plain))
				got.err = err
			}

			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("\n%s\nDecrypt(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzDecrypt reads what nobody has encrypted.
func FuzzDecrypt(f *testing.F) {
	f.Add([]byte("$ANSIBLE_VAULT;1.1;AES256\n3130\n"), "password")
	f.Add([]byte(`$ANSIBLE_VAULT;1.2;AES256;id\n3130\r\n0a\n`), "")

	f.Fuzz(func(t *testing.T, text []byte, password string) {
		for _, found := range Find(text) {
			if plain, err := Decrypt(found, password); err == nil && len(plain) > len(text) {
				t.Errorf("Decrypt(%q): got more than there was", found)
			}
		}
	})
}
