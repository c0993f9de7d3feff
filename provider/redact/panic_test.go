package redact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestPanic(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		call   func()
		want   bool
	}{
		"None":  {reason: "Without a panic nothing is printed or called.", call: func() {}},
		"Panic": {reason: "After a panic the stack is printed, without the value.", call: func() { panic("hunter2") }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			needs.OK(t, err)
			defer file.Close()

			stderr := os.Stderr
			os.Stderr = file
			called := false

			func() {
				defer func() { os.Stderr = stderr }()
				defer Panic(func() { called = true })

				tc.call()
			}()

			text, err := os.ReadFile(file.Name())
			needs.OK(t, err)

			printed := strings.Contains(string(text), "TestPanic")
			if called != tc.want || printed != tc.want || strings.Contains(string(text), "hunter2") {
				t.Errorf("\n%s\nPanic(...): called: %t, printed:\n%s", tc.reason, called, text)
			}
		})
	}
}
