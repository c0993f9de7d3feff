package content

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// smallDisk mounts a disk of so many bytes on a directory. Where this user may
// not, the test is run again as root of a user namespace, and smallDisk does not
// return.
func smallDisk(t *testing.T, bytes string) string {
	t.Helper()

	const again = "CONTENT_TEST_IN_NAMESPACE"

	dir := t.TempDir()

	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+bytes)
	if err == nil {
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Errorf("cannot unmount: %v", err)
			}
		})

		return dir
	}

	if os.Getenv(again) != "" {
		needs.Machinef(t, "A small disk cannot be mounted, also as root of a user namespace: %v", err)
	}

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), again+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}

	out, err := cmd.CombinedOutput()

	var failed *exec.ExitError

	switch {
	case errors.As(err, &failed):
		t.Fatalf("in a user namespace:\n%s", out)
	case err != nil:
		needs.Machinef(t, "There cannot be a user namespace to mount a small disk in: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("in a user namespace:\n%s", out)
	}

	t.Skip("passed in a user namespace, where a small disk could be mounted")

	return ""
}

// TestDiskFull fills a real disk with the real ansible-galaxy.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	disk := smallDisk(t, "4m")

	src := t.TempDir()
	write(t, filepath.Join(src, "large"), map[string]string{"data": strings.Repeat("x", 8<<20)})
	write(t, filepath.Join(src, "medium"), map[string]string{"data": strings.Repeat("x", 1<<20)})
	small := buildCollection(t, filepath.Join(src, "small"), "small", "1.0.0")
	medium := buildCollection(t, filepath.Join(src, "medium"), "medium", "1.0.0")
	large := buildCollection(t, filepath.Join(src, "large"), "large", "1.0.0")

	req := func(archive string) Request {
		return request(t, inputs.Inputs{Requirements: "collections: [" + archive + "]"})
	}

	m := NewMetrics(nil)
	s := newStore(t, Config{Dir: disk, Metrics: m})

	_, releaseSmall := ensure(t, s, req(small))
	_, release := ensure(t, s, req(medium))
	release()

	_, _, err := s.Ensure(t.Context(), req(large))

	want := "cannot install content: the disk of the content store (" + disk + ") is full: " +
		"give the provider a bigger volume for its --state-dir: ansible-galaxy failed: no space left on device"
	if diff := cmp.Diff(want, needs.Message(err)); diff != "" || !errors.Is(err, unix.ENOSPC) || !IsOwn(err) {
		t.Errorf("\nThe error says what is full, and what to do.\nEnsure(...): -want error, +got error:\n%s", diff)
	}

	wantNoLeftovers(t, s)

	if !s.Resolution(req(small)).Found || s.Resolution(req(medium)).Found {
		t.Errorf("\nSets that nobody uses make room, those in use stay.")
	}

	if n := testutil.ToFloat64(m.installs.WithLabelValues("run", resultFailed)); n != 1 {
		t.Errorf("\nIt is one installation that failed: got %v", n)
	}

	releaseSmall()

	// Something else takes space, until there is room for one of the two.
	filler := filepath.Join(disk, "filler")

	needs.OK(t, os.WriteFile(filler, make([]byte, 2<<20), 0o600))

	_, release = ensure(t, s, req(medium))
	release()
	wantNoLeftovers(t, s)
}
