package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// commands with a text in their arguments, by process.
func commands(t *testing.T, part string) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatalf("cannot list processes: %s", err)
	}
	out := map[int]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(b, []byte(part)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		out[pid] = string(bytes.ReplaceAll(b, []byte{0}, []byte(" ")))
	}
	return out
}
