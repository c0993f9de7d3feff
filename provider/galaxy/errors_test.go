package galaxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files under testdata are outputs of ansible-galaxy; testdata/make makes
// them again.
func TestReason(t *testing.T) {
	cases := map[string]struct {
		reason string
		file   string
		want   string
	}{
		"CollectionClone": {
			reason: "git knows best why it could not clone.",
			file:   "collection-clone.txt",
			want:   "Failed to clone a Git repository from `file:///nonexistent/repo`: '/nonexistent/repo' does not appear to be a git repository",
		},
		"CollectionTag": {
			reason: "A version that is not there is named.",
			file:   "collection-tag.txt",
			want: "Failed to switch a cloned Git repo `file:///tmp/dir/repo` to the requested revision `v9`: " +
				"pathspec 'v9' did not match any file(s) known to git",
		},
		"CollectionServer": {
			reason: "A server that cannot be reached is named.",
			file:   "collection-server.txt",
			want:   "Unknown error when attempting to call Galaxy at 'http://127.0.0.1:1/api': Connection refused",
		},
		"CollectionFile": {
			reason: "What ansible-galaxy explains is passed on.",
			file:   "collection-file.txt",
			want: "Neither the collection requirement entry key 'name', nor 'source' point to a concrete resolvable collection artifact. " +
				"Also 'name' is not an FQCN. A valid collection name must be in the format <namespace>.<collection>. " +
				"Please make sure that the namespace and the collection name contain characters from [a-zA-Z0-9_] only.; Could not find /nonexistent.tar.gz.",
		},
		"RoleClone": {
			reason: "The reason for a role is in a warning, ansible-galaxy's error has none.",
			file:   "role-clone.txt",
			want:   "web was NOT installed successfully: '/nonexistent/repo' does not appear to be a git repository",
		},
		"RoleServer": {
			reason: "So it is when Galaxy cannot be reached.",
			file:   "role-server.txt",
			want: "acme.none was NOT installed successfully: Unknown error when attempting to call Galaxy at " +
				"'http://127.0.0.1:1/api': Connection refused",
		},
		"RoleDownload": {
			reason: "Cause and role are in two lines.",
			file:   "role-download.txt",
			want:   "failed to download the file: Connection refused; web was NOT installed successfully.",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", tc.file))
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, reason(string(text))); diff != "" {
				t.Errorf("\n%s\nreason(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReasonOther(t *testing.T) {
	cases := map[string]struct {
		reason string
		output string
		want   string
	}{
		"Nothing":    {reason: "Silence gives no reason."},
		"Unknown":    {reason: "The last lines are better than nothing.", output: "a\nb\n\nc\nd\n", want: "b; c; d"},
		"OldFormat":  {reason: "Older versions mark errors another way.", output: "ERROR! no", want: "no"},
		"Password":   {reason: "URLs lose their passwords.", output: "[ERROR]: https://u:p@example.org/x", want: "https://example.org/x"},
		"Bounded":    {reason: "A reason fits into a status.", output: strings.Repeat("x", 2000), want: strings.Repeat("x", maxReason-3) + "…"},
		"OtherNotes": {reason: "Other warnings are no reason.", output: "[WARNING]: old\n[ERROR]: no", want: "no"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, reason(tc.output)); diff != "" {
				t.Errorf("\n%s\nreason(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestInstallErrorDenied is about a directory that an installation may not read:
// ansible-galaxy takes that for a mistake of its own.
func TestInstallErrorDenied(t *testing.T) {
	output := "[ERROR]: Unexpected Exception, this is probably a bug: [Errno 13] Permission denied: b'/srv/web/galaxy.yml'\n"
	want := "cannot install collections: [Errno 13] Permission denied: b'/srv/web/galaxy.yml'; " +
		"installations read only what spec.confinement.readPaths, or the flag --read-path, allows, beside the system"

	if diff := cmp.Diff(want, installErrorFrom("collections", output, os.ErrPermission, Request{Redact: func(s string, _ int) string { return s }}).Error()); diff != "" {
		t.Errorf("installErrorFrom(...): -want, +got:\n%s", diff)
	}
}

// What a program writes may be many lines. What is looked for in each of them is not
// made anew for each.
func TestReasonLines(t *testing.T) {
	const lines = maxOutput / 2

	output := strings.Repeat("x\n", lines)

	if n := testing.AllocsPerRun(1, func() { _ = reason(output) }); n > 10*lines {
		t.Errorf("reason(...): %d lines take %.0f allocations", lines, n)
	}
}
