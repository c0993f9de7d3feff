// Package mac computes HMACs with a key.
package mac

import (
	"crypto/hmac"
	"crypto/sha256"
)

// Sum returns the HMAC-SHA256 of a text for a purpose. A sum for one purpose is never valid for another. The purpose
// must not contain a zero byte.
func Sum(key []byte, purpose string, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose + "\x00"))
	h.Write(text)

	return h.Sum(nil)
}
