// Package canary has unique secrets, a play that shows them in all known ways, and searches for leaks of them.
package canary

import (
	"crypto/rand"
	_ "embed" // For the play.
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// Play shows canaries: what the variables of_file, of_file_json, of_inventory and
// detail have, the variable CANARY_TOKEN of the environment, and the file
// credential. It writes below the variable directory, and fails at the end if the
// variable fail is true.
//
//go:embed play.yml
var Play string

const (
	// random bytes at the end of a canary, as twice as many digits.
	random = 12
	digits = 2 * random
	// large files, of more bytes than this, are skipped.
	large = 16 << 20
)

// Canaries by where they are put.
type Canaries map[string]string

// New canaries. Each has what URLs escape in front of what is looked for.
func New(places ...string) Canaries {
	c := Canaries{}

	for _, place := range places {
		b := make([]byte, random)
		_, _ = rand.Read(b) // It never returns an error.

		c[place] = `S &/?%=+ ` + hex.EncodeToString(b)
	}

	return c
}

// Needle is the end of a canary, of which no encoding of single characters
// changes any.
func Needle(canary string) string { return canary[len(canary)-digits:] }

// In returns the places of the canaries that a text has: as they are, or in base64.
func (c Canaries) In(text string) []string {
	var found []string

	for place, canary := range c {
		n := Needle(canary)
		looked := []string{n}

		for i := range 3 {
			// Three characters make four of base64. Those at the ends depend on
			// their neighbours.
			looked = append(looked, base64.StdEncoding.EncodeToString([]byte(n[i:i+digits-6])))
		}

		if slices.ContainsFunc(looked, func(s string) bool { return strings.Contains(text, s) }) {
			found = append(found, place)
		}
	}

	slices.Sort(found)

	return found
}

// Excerpt of a text around the first canary.
func (c Canaries) Excerpt(text string) string {
	const before, after = 300, 100

	for _, canary := range c {
		if i := strings.Index(text, Needle(canary)); i >= 0 {
			return text[max(0, i-before):min(len(text), i+after)]
		}
	}

	return "(encoded)"
}

// Below returns the files with canaries that were written since a time, by
// their paths.
func (c Canaries) Below(dir string, since time.Time) map[string][]string {
	found := map[string][]string{}

	// What others remove meanwhile has no canary.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // It is not there any more, or may not be read.
		}

		info, err := d.Info()

		switch {
		case err != nil:
			return nil //nolint:nilerr // It is not there any more.
		case d.IsDir() && path != dir && ofTools(path):
			return fs.SkipDir
		case !d.Type().IsRegular() || info.ModTime().Before(since) || info.Size() > large:
			return nil
		}

		if text, err := os.ReadFile(path); err == nil { //nolint:gosec // Only a test looks at what is found.
			if places := c.In(string(text)); len(places) > 0 {
				found[path] = places
			}
		}

		return nil
	})

	return found
}

// ofTools is true for a directory of Go's, and for a working copy of a
// repository.
func ofTools(path string) bool {
	_, err := os.Stat(filepath.Join(path, ".git", "HEAD"))

	return err == nil || strings.HasPrefix(filepath.Base(path), "go-build")
}

// Watch the arguments of all processes. What is returned ends that, and returns
// command lines with canaries, by their places.
func (c Canaries) Watch() func() map[string]string {
	const often = 20 * time.Millisecond

	stop, result := make(chan struct{}), make(chan map[string]string)

	go func() {
		found, seen := map[string]string{}, map[string]bool{}
		tick := time.NewTicker(often)

		defer tick.Stop()

		for {
			select {
			case <-stop:
				result <- found

				return
			case <-tick.C:
				c.look(found, seen)
			}
		}
	}()

	return func() map[string]string {
		close(stop)

		return <-result
	}
}

// look at all processes that were not seen yet with their arguments.
func (c Canaries) look(found map[string]string, seen map[string]bool) {
	all, _ := procfs.AllProcs()

	for _, p := range all {
		args, _ := p.CmdLine()
		if key := fmt.Sprint(p.PID, args); !seen[key] {
			seen[key] = true

			for _, place := range c.In(strings.Join(args, " ")) {
				found[place] = key
			}
		}
	}
}

// Files below a directory, or a file itself, by their paths, with what is in them: what an attack may have changed or
// found.
func Files(tb testing.TB, dir string) map[string]string {
	tb.Helper()

	found := map[string]string{}

	needs.OK(tb, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found[path] = needs.Read(tb, path)
		}

		return err
	}))

	return found
}
