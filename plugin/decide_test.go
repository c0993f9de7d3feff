package main

import (
	"strings"
	"testing"
)

// The end of the input is no answer.
func TestRead(t *testing.T) {
	if got, err := read(strings.NewReader("")); got != "" || err == nil {
		t.Errorf("read(...): want an error, got %q, %v", got, err)
	}
}
