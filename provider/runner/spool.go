package runner

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// spool removes the files of events that were read, so that the longest play
// does not fill the disk. Lines of text have files, too, which are known by
// their numbers only.
//
// The play may have put something else in the place of its directories: links
// that lead out of the private data directory are not followed.
func spool(root *os.Root) func(counter int64, uuid string) {
	events := filepath.Join("artifacts", ident, "job_events")
	last := int64(0)

	return func(counter int64, uuid string) {
		_ = root.Remove(filepath.Join(events, strconv.FormatInt(counter, 10)+"-"+filepath.Base(uuid)+".json"))

		if counter > last+1 {
			removeBefore(root, events, counter)
		}

		last = counter
	}
}

// removeBefore removes the files of events with lower numbers. What
// awx_display writes has no number until ansible-runner has read it.
func removeBefore(root *os.Root, events string, counter int64) {
	// It may be a pipe by now, that nobody ever writes into.
	dir, err := root.OpenFile(events, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}

	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()

	for _, name := range names {
		number, _, _ := strings.Cut(name, "-")

		n, err := strconv.ParseInt(number, 10, 64)
		if err == nil && n < counter && !strings.HasSuffix(name, "-partial.json") {
			_ = root.Remove(filepath.Join(events, name))
		}
	}
}
