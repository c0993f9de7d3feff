// Package bomb has YAML documents that are small and valid, or nearly so. A reader without limits spends all time or
// memory on them.
package bomb

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// Secret is how many bytes a Secret may have, with all that is in it.
const Secret = 1 << 20

// What it may take to read a bomb. A parser takes some hundred bytes for each; a
// bomb that goes off takes gigabytes and minutes. Where others take the processor, too,
// time passes without it: another process that reads a bomb is only known to have ended.
const (
	maxCPU    = 2 * time.Minute
	maxTime   = 5 * time.Minute
	maxMemory = 1 << 30
)

// Laughs is a document with a variable of a name that stands for more than nine to
// the power of nine others.
func Laughs(name string) string {
	return nested(name, "[x]", "[%s]")
}

// nested variables of which each has nine times the one before.
func nested(name, first, format string) string {
	var b strings.Builder

	b.WriteString("a: &a " + first + "\n")

	for c := 'b'; c < 'l'; c++ {
		again := strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 9), ", ")
		fmt.Fprintf(&b, "%c: &%c "+format+"\n", c, c, again)
	}

	return b.String() + name + ": *k\n"
}

// All bombs of a size by name. Each has a field of the given name, where that is
// possible.
func All(field string, size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }

	return map[string]string{
		"Laughs":     Laughs(field),
		"Merges":     nested(field, "{x: y}", "{<<: [%s]}"),
		"Cycle":      field + ": &a [*a, *a, *a]\n",
		"MergeCycle": field + ": &a {<<: *a, x: *a}\n",
		"Aliases":    "a: &a {b: c}\n" + field + ": [" + fill("*a,") + "]\n",
		"AliasesBig": "a: &a [" + strings.Repeat("x,", 1000) + "]\n" + field + ": [" + fill("*a,") + "]\n",
		"Deep":       field + ": " + fill("["),
		"DeepMaps":   field + ": " + fill("{a: "),
		"DeepBlocks": field + ":\n  " + fill("- "),
		"DeepKeys":   fill("? "),
		"Indented":   indented(field, size),
		"Documents":  fill("---\n"),
		"Comments":   fill("#\n") + field + ": [x]\n",
		"CommentsIn": field + ":\n" + fill("- x # y\n"),
		"Anchors":    field + ": " + fill("&a "),
		"Tags":       field + ": !<" + fill("a") + "> [x]\n",
		"Quotes":     field + ": " + fill(`"`),
		"Escapes":    field + `: "` + fill(`\x41`) + "\"\n",
		"Folded":     field + ": >\n" + fill("  x\n\n"),
		"Spaces":     field + ": >\n" + fill(" "),
		"Long":       field + ": " + fill("x") + "\n",
		"Keys":       keys(size),
		"Number":     field + ": " + fill("9") + "\n",
		"Binary":     field + ": !!binary " + fill("A") + "\n",
		"Colons":     fill(": "),
		"Directives": directives(field, size),
		"Questions":  "{" + fill("?,"),
	}
}

func indented(field string, size int) string {
	var b strings.Builder

	b.WriteString(field + ":\n")

	for depth := 1; b.Len() < size; depth++ {
		b.WriteString(strings.Repeat(" ", depth) + "a:\n")
	}

	return b.String()
}

func directives(field string, size int) string {
	var b strings.Builder

	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%%TAG !%x! x\n", i)
	}

	return b.String() + "---\n" + field + ": [x]\n"
}

func keys(size int) string {
	var b strings.Builder

	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "a%d:\n", i)
	}

	return b.String()
}

// Defuse is what a test calls with what reads bombs: it must come to an end before
// they go off. Memory is what the heap has grown by.
func Defuse(t *testing.T, fn func()) {
	t.Helper()

	var before, after runtime.MemStats

	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)

	began, earlier := time.Now(), cpu(t)

	fn()

	took, used := time.Since(began), cpu(t)-earlier

	runtime.ReadMemStats(&after)

	if memory := after.HeapSys - before.HeapInuse; took > maxTime || used > maxCPU || memory > maxMemory {
		t.Errorf("It took %s, %s of a processor and %d MiB.", took, used, memory>>20)
	}
}

// cpu is the processor time that this process has taken so far.
func cpu(t *testing.T) time.Duration {
	t.Helper()

	var u unix.Rusage
	needs.OK(t, unix.Getrusage(unix.RUSAGE_SELF, &u))

	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
