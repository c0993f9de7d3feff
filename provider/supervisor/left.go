package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// leftPatience is how long processes may take to end that were killed.
const leftPatience = 10 * time.Second

// EndLeft kills the processes that have a text in their environment, and what they
// start meanwhile. It is for what is left when a supervisor was killed, and the
// process that would have adopted it, too.
func EndLeft(text string) {
	for deadline := time.Now().Add(leftPatience); time.Now().Before(deadline); time.Sleep(endPoll) {
		left := having(text)
		if len(left) == 0 {
			return
		}

		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// having a text in their environment are these processes. Those that have ended
// have none any more.
func having(text string) []int {
	var found []int

	for _, pid := range pids() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && pid != unix.Getpid() && bytes.Contains(env, []byte(text)) {
			found = append(found, pid)
		}
	}

	return found
}
