package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// Messages of CEL.
const (
	messageUndefined  = "undefined field '"
	messageUndeclared = "undeclared reference to '"
	messageNoOverload = "no such overload"
	messageNoMatch    = "found no matching overload for '"
	messageRange      = "cannot be range of a comprehension"
)

// Messages of evaluations that were ended.
const (
	messageWork = "this takes too much work"
	messageTime = "there was no time left for this"
)

// isMistake is false for errors that only a schema brings about.
func isMistake(err *common.Error) bool {
	message := err.Message
	if strings.HasPrefix(message, messageUndefined) {
		return true
	}

	if strings.Contains(message, prefix) || strings.Contains(message, messageRange) {
		return false
	}

	call, ok := strings.CutPrefix(message, messageNoMatch)
	if !ok {
		return true
	}

	function, operands, _ := strings.Cut(call, "'")

	switch function {
	case "_?_:_", "_==_", "_!=_", "@in", "_[_]":
		return false
	}

	// What a list or a map holds is looked at when it is used.
	return !strings.Contains(operands, "list(") && !strings.Contains(operands, "map(") && !strings.Contains(operands, "optional_type(")
}

// explain what is wrong with an expression, and where.
func (e *Environment) explain(source string, err *common.Error) string {
	message := strings.TrimSuffix(err.Message, " (in container '')")
	at := point(source, err.Location)

	if name, ok := strings.CutPrefix(message, messageUndeclared); ok {
		message = e.undeclared(message, strings.TrimSuffix(name, "'"))
	}

	if name, ok := strings.CutPrefix(message, messageUndefined); ok {
		message = e.unknown(strings.TrimSuffix(name, "'"), at)
	}

	if strings.HasPrefix(message, messageSyntax) {
		_, after, _ := strings.Cut(at, "▸")
		message = syntax(message, after)
	}

	if call, ok := strings.CutPrefix(message, messageNoMatch); ok {
		function, operands, _ := strings.Cut(call, "'")
		message += remedy(function, operands)
	}

	return fmt.Sprintf("%s, here: %s", message, at)
}

// undeclared says why there is no such root, or what may be meant.
func (e *Environment) undeclared(message, name string) string {
	switch {
	case name == rootEach && e.named:
		return "a local cannot use each, for it is the same for all items; write it where it is used"
	case name == rootEach:
		return "each is there only in a run with forEach"
	case e.operation && name == rootXR:
		return "there is no XR in an Operation"
	case e.operation && name == rootResources:
		return "nothing is composed in an Operation"
	case e.operation && name == rootRuns:
		return "nothing is observed of runs in an Operation"
	}

	return message + counterpart(name)
}

// unknown says what is not there, and what may be meant. It is selected from
// what ends before the point.
func (e *Environment) unknown(name, at string) string {
	before, after, _ := strings.Cut(at, "▸")
	if strings.HasSuffix(before, "has") {
		before, _, _ = strings.Cut(after, "."+name)
	}

	before = strings.TrimRight(before, ".? ")
	start := strings.LastIndexFunc(before, func(r rune) bool { return r != '.' && r != '?' && !isIdentifier(r) }) + 1
	from := strings.ReplaceAll(before[start:], "?", "")

	t := e.declaredAt(from)
	if t == nil {
		return messageUndefined + name + "'"
	}

	suggestion := spelling.Hint(name, slices.Sorted(maps.Keys(t.Fields)))

	switch from {
	case rootRuns:
		return fmt.Sprintf("there is no run %q%s", name, suggestion)
	case rootRequired:
		return fmt.Sprintf("there is no required resource %q%s", name, suggestion)
	case rootResources:
		return fmt.Sprintf("no step composes a resource %q%s", name, suggestion)
	case rootLocals:
		return fmt.Sprintf("there is no local %q%s", name, suggestion)
	}

	return fmt.Sprintf("%s has no field %q%s", from, name, suggestion)
}

// declaredAt returns the type of an object that is selected from a root, or nil.
func (e *Environment) declaredAt(selection string) *apiservercel.DeclType {
	root, below, _ := strings.Cut(selection, ".")

	t := e.roots[root]
	for name := range strings.SplitSeq(below, ".") {
		if t == nil || below == "" {
			break
		}

		f := t.Fields[name]
		if f == nil {
			return nil
		}

		t = f.Type
		if t.TypeName() == e.run.TypeName() {
			t = e.run
		}
	}

	if t == nil || !t.IsObject() {
		return nil
	}

	return t
}

// remedy for operands that do not go together.
func remedy(function, operands string) string {
	text, integer, double := strings.Contains(operands, "string"), strings.Contains(operands, "int"), strings.Contains(operands, "double")

	switch {
	case strings.Contains(operands, "("+"list") || strings.Contains(operands, "map"):
		return ""
	case function == "base64.encode" && text:
		return "; write bytes(…) around a string"
	case function == "_+_" && text:
		return "; write string(…) around what is no string"
	case integer && double:
		return "; integers and doubles do not mix: write double(…) around the integer, or 2.0 for 2"
	}

	return ""
}

// point shows what is around a location in a source, with a ▸ before it.
func point(source string, at common.Location) string {
	const around = 60

	lines := strings.Split(source, "\n")
	if at.Line() < 1 || at.Line() > len(lines) {
		return strings.Join(strings.Fields(source), " ")
	}

	before := []rune(strings.Join(lines[:at.Line()-1], " "))
	if len(before) > 0 {
		before = append(before, ' ')
	}

	line := []rune(lines[at.Line()-1])
	column := min(max(at.Column(), 0), len(line))
	before = append(before, line[:column]...)
	after := line[column:]

	if len(before) > around {
		before = append([]rune("…"), before[len(before)-around:]...)
	}

	if len(after) > around {
		after = append(after[:around:around], '…')
	}

	return string(before) + "▸" + string(after)
}
