// Package vault decrypts what ansible-vault has encrypted. Ansible decrypts such values in a run
// and may display them; the provider promises that no report shows them, and can redact only
// values that it knows. To ask ansible-vault for each value would take a second per value.
package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ErrPassword says that the password is not the one that something was encrypted
// with, or that it was changed since.
var ErrPassword = errors.New("wrong password")

const (
	iterations = 10000
	lineLength = 80
	keyLength  = 32
)

// armored matches what is encrypted in a text: a header and lines of
// hexadecimal, which JSON has with escaped line ends.
var armored = regexp.MustCompile(`\$ANSIBLE_VAULT;1\.[12];AES256(?:;[^\s\\"']*)?((?:(?:\s|\\[nr])+[0-9a-fA-F]+)+)`)

// Find all that is encrypted in a text of YAML, JSON or anything else, each as
// the hexadecimal text that Decrypt takes.
func Find(text []byte) []string {
	var found []string

	for _, m := range armored.FindAllSubmatch(text, -1) {
		var b strings.Builder

		lines := strings.Fields(strings.NewReplacer(`\n`, "\n", `\r`, "\n").Replace(string(m[1])))
		for i, line := range lines {
			// A name that follows may look like hexadecimal.
			if i > 0 && len(lines[i-1]) < lineLength {
				break
			}

			b.WriteString(line)
		}

		found = append(found, b.String())
	}

	return found
}

// Decrypt what was encrypted with a password: AES-256 in counter mode, with keys
// from PBKDF2 and an HMAC over the result. The error is ErrPassword where that
// does not fit.
// https://docs.ansible.com/ansible/latest/vault_guide/vault_using_encrypted_content.html#ansible-vault-payload-format-1-1-1-2
func Decrypt(text, password string) ([]byte, error) {
	payload, err := hex.DecodeString(text)
	if err != nil {
		return nil, errors.New("is not hexadecimal")
	}

	var parts [][]byte

	for line := range bytes.SplitSeq(payload, []byte("\n")) {
		part, err := hex.DecodeString(string(line))
		if err != nil {
			return nil, errors.New("is not what ansible-vault writes")
		}

		parts = append(parts, part)
	}

	if len(parts) != 3 { // Salt, HMAC, and what is encrypted.
		return nil, errors.New("is not what ansible-vault writes")
	}

	salt, mac, data := parts[0], parts[1], parts[2]

	keys, err := pbkdf2.Key(sha256.New, password, salt, iterations, 2*keyLength+aes.BlockSize)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a key")
	}

	h := hmac.New(sha256.New, keys[keyLength:2*keyLength])
	h.Write(data)

	if !hmac.Equal(h.Sum(nil), mac) {
		return nil, ErrPassword
	}

	block, err := aes.NewCipher(keys[:keyLength])
	if err != nil {
		return nil, errors.Wrap(err, "cannot decrypt")
	}

	plain := make([]byte, len(data))
	cipher.NewCTR(block, keys[2*keyLength:]).XORKeyStream(plain, data)

	// The last byte of the padding says how long it is.
	if n := len(plain); n > 0 && int(plain[n-1]) <= n {
		plain = plain[:n-int(plain[n-1])]
	}

	return plain, nil
}
