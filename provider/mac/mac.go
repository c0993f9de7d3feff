// Package mac computes HMACs with a key.
package mac

import (
	"crypto/hmac"
	"crypto/sha256"
)

// Sum is the HMAC-SHA256 of a text for a purpose, which has no zero byte: no sum for one
// purpose is one for another.
func Sum(key []byte, purpose string, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose + "\x00"))
	h.Write(text)

	return h.Sum(nil)
}
