package main

import (
	"strings"
	"testing"
)

// TestRead tests that the end of the input is not an answer.
func TestRead(t *testing.T) {
	if got, err := read(strings.NewReader("")); got != "" || err == nil {
		t.Errorf("read(...): want an error, got %q, %v", got, err)
	}
}
