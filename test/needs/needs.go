// Package needs says what tests need beside Go and this repository. Where it is
// missing they are skipped, so that go test ./... works in every clone.
//
// Where all tests must run, which is below make and in CI, what make builds and
// what CONTRIBUTING.md has installed must be there: the tests fail without it. What the
// machine itself cannot do is left out there, too. make sets TESTS_SKIPPED, a file
// that gets a line for each such test.
package needs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Message of an error; empty when there is none.
func Message(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}

// OK ends the test with an error of something that it is not about.
func OK(tb testing.TB, err error) {
	tb.Helper()

	if err != nil {
		tb.Fatal(err)
	}
}

// Read the text of a file.
func Read(tb testing.TB, file string) string {
	tb.Helper()

	text, err := os.ReadFile(file)
	OK(tb, err)

	return string(text)
}

// Write files below a directory.
func Write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()

	for name, text := range files {
		file := filepath.Join(dir, name)
		OK(tb, os.MkdirAll(filepath.Dir(file), 0o755)) //nolint:gosec // Tests have other users read them.
		OK(tb, os.WriteFile(file, []byte(text), 0o600))
	}
}

// Ansible returns the directory of Ansible's programs.
func Ansible(tb testing.TB) string {
	tb.Helper()

	for _, name := range []string{"ansible-galaxy", "ansible-runner", "ansible-vault"} {
		Program(tb, name)
	}

	return filepath.Dir(Program(tb, "ansible-playbook"))
}

// Program returns the path of a program.
func Program(tb testing.TB, name string) string {
	tb.Helper()

	// Not every PATH has the directories of servers.
	for _, dir := range []string{"", "/usr/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}

	missing(tb, "There is no "+name+" in PATH. make test runs this test.")

	return ""
}

// Built are files that a target of make builds, which runs the test.
func Built(tb testing.TB, target string, files ...string) {
	tb.Helper()

	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			missing(tb, fmt.Sprintf("%s. make %s builds it and runs this test.", err, target))
		}
	}
}

// Module returns the directory with the files of a module, in the version that the go.mod in
// the directory pins. The sum there says whether they are the right ones.
func Module(tb testing.TB, dir, path string) string {
	tb.Helper()

	stderr := &strings.Builder{}
	cmd := exec.CommandContext(tb.Context(), "go", "mod", "download", "-json", path)
	cmd.Dir, cmd.Stderr = dir, stderr

	out, err := cmd.Output()

	m := struct {
		Dir   string `json:"Dir"`
		Error string `json:"Error"`
	}{}
	// A sum that is wrong is not a part of the answer.
	if jerr := json.Unmarshal(out, &m); jerr != nil {
		tb.Fatalf("go mod download %s: %v: %s", path, err, stderr)
	}

	if m.Error != "" {
		missing(tb, "go mod download cannot get "+path+": "+m.Error+". make test-e2e runs this test.")
	}

	return m.Dir
}

// APIServer is where envtest finds kube-apiserver and etcd.
func APIServer(tb testing.TB) {
	tb.Helper()

	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		missing(tb, "KUBEBUILDER_ASSETS=$PWD/.cache/bin is not set. make test-e2e builds what is there and runs this test.")
	}
}

// None runs no test, if what all tests of a package need may be missing. It is for
// TestMain.
func None(err error, target string) bool {
	if err == nil || required() {
		return false
	}

	// The last words have go test say that the package is not tested.
	_, _ = fmt.Fprintf(os.Stdout,
		"%s. make %s builds what is missing and runs these tests.\ntesting: warning: no tests to run\n", err, target)

	return true
}

// Root runs the test. CI has it; an ordinary user's make goes on without it.
func Root(tb testing.TB, why string) {
	tb.Helper()

	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") != "":
		tb.Fatalf("%s CI runs this test as root.", why)
	default:
		Machinef(tb, "%s sudo --preserve-env=PATH runs this test.", why)
	}
}

// NoneAble runs no test, if an error says what this machine, or this user, cannot do that all tests
// of a package need. CI can. It is for TestMain.
func NoneAble(err error) bool {
	if err == nil || os.Getenv("CI") != "" {
		return false
	}

	// As in None.
	_, _ = fmt.Fprintf(os.Stdout, "%s.\ntesting: warning: no tests to run\n", err)

	return true
}

// Machinef says what this one cannot do, whatever is installed: the test is skipped.
func Machinef(tb testing.TB, format string, args ...any) {
	tb.Helper()

	message := fmt.Sprintf(format, args...)

	if file := os.Getenv("TESTS_SKIPPED"); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		OK(tb, err)

		defer f.Close() //nolint:errcheck // Nothing is lost that was written.

		_, err = fmt.Fprintln(f, tb.Name()+": "+message)
		OK(tb, err)
	}

	tb.Skip(message)
}

// required says whether all tests must run.
func required() bool { return os.Getenv("TESTS_SKIPPED") != "" || os.Getenv("CI") != "" }

func missing(tb testing.TB, message string) {
	tb.Helper()

	if required() {
		tb.Fatal(message)
	}

	tb.Skip(message)
}
