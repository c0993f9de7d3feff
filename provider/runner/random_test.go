package runner

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// A generator of variables as the API server may pass them on.
type generator struct {
	*rand.Rand
	// templates says whether strings may be templates.
	templates bool
}

// text is made of what goes wrong elsewhere.
func (g generator) text() string {
	parts := []string{
		"yes", "No", "on", "null", "~", "0o17", "017", "0x1f", "1e3", "1_000", "1:30", ".inf", "2020-01-01", "2020-01-01T00:00:00Z",
		"!unsafe x", "!vault |", "!!binary aGk=", "- a", "a: b", "&a", "*a", "%a", "@a", "`a`", "? a", "| ", "> ", "# no comment", "---", "...", "<<", "=",
		" ", "  ", "\n", "\n\n", "\t", "\r\n", "\r", "\\", "\\n", `"`, "'", "''", "$HOME", "$(id)", "`id`", ",", "[", "]", "\x00", "\x07", "\x1b[0m", "\x7f",
		"\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffd", "\ufffe", "\uffff", "é", "e\u0301", "\u65e5\u672c", "👍🏽", "\U0010ffff",
		"$ANSIBLE_VAULT;1.1;AES256\n3132", "omit", "__omit_place_holder__", "ansible_connection",
	}
	if g.templates {
		parts = append(parts, "{{ lookup('pipe', 'id') }}", "{% raw %}", "{# c #}", "{{", "}}", "#jinja2: variable_start_string: '$'\n$",
			"__ansible_unsafe", "__ansible_vault")
	}

	var b strings.Builder

	for range g.IntN(4) {
		b.WriteString(parts[g.IntN(len(parts))])

		if g.IntN(3) == 0 {
			b.WriteRune(g.Int32N(0xd800)&^'{' | 0x100)
		}
	}

	return b.String()
}

func (g generator) number() json.Number {
	if g.IntN(2) == 0 {
		return json.Number(strconv.FormatInt(int64(g.Uint64())>>g.IntN(64), 10))
	}

	for {
		f := math.Float64frombits(g.Uint64())
		if text, err := json.Marshal(f); err == nil && math.Abs(f) < 1<<63 {
			return json.Number(text)
		}
	}
}

func (g generator) value(depth int) any {
	switch n := g.IntN(9); {
	case n < 4 || depth == 0:
		return g.text()
	case n == 4:
		return g.number()
	case n == 5:
		return []any{true, false, nil, map[string]any{}, []any{}, ""}[g.IntN(6)]
	case n == 6:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(depth-1))
		}

		return list
	}

	m := map[string]any{}
	for range g.IntN(4) {
		m[g.text()] = g.value(depth - 1)
	}

	return m
}

// values of every kind, and some that have to be among them.
func (g generator) values(n int) []any {
	deep := any("bottom")
	for i := range 97 {
		if deep = any([]any{deep}); i%2 == 0 {
			deep = map[string]any{"down": deep.([]any)[0]}
		}
	}

	all := []any{deep, json.Number("9223372036854775807"), json.Number("-9223372036854775808"), json.Number("9007199254740993")}
	for range n {
		all = append(all, g.value(4))
	}

	return all
}

// normal makes numbers comparable that are written in different ways.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}

		f, err := v.Float64()
		if err != nil {
			return v
		}

		return f
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	}

	return v
}

// TestRunRandomVariables sends many values every way that there is.
func TestRunRandomVariables(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	t.Logf("The seed is %d.", seed)

	g := generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	sent := map[string]any{"vars": g.values(100), "file": g.values(100)}
	g.templates = true
	sent["unsafe"] = g.values(200)

	vars := func(name string) string {
		text, err := json.Marshal(map[string]any{"of_" + name: sent[name]})
		if err != nil {
			t.Fatal(err)
		}

		return string(text)
	}

	dest := filepath.Join(t.TempDir(), "out")
	run := inline(fmt.Sprintf(`
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.copy:
      dest: %s
      content: "{{ {'vars': of_vars, 'file': of_file, 'unsafe': of_unsafe} | to_json }}"
`, dest))
	run.Inputs.VarFiles = []inputs.File{{Data: []byte(vars("file"))}}
	run.Inputs.Parameters.Vars = raw(vars("vars"))
	run.Inputs.Parameters.UnsafeVars = raw(vars("unsafe"))

	if err := run.Inputs.Validate(); err != nil {
		t.Errorf("None of that is a mistake.\nValidate(): %v", err)
	}

	if diff := cmp.Diff(Result{Phase: common.PhaseSucceeded}, must(t, newRunner(t), run), ignoreSummary()); diff != "" {
		t.Fatalf("Run(...): -want, +got:\n%s", diff)
	}

	// cmp.Diff would take for ever for values that are nested deeply.
	got, _ := normal(readJSON(t, dest)).(map[string]any)

	for name, want := range normal(sent).(map[string]any) {
		if diff := cmp.Diff(items(want), items(got[name])); diff != "" {
			t.Errorf("What is sent is what arrives.\n-want %s, +got %s:\n%s", name, name, diff)
		}
	}
}

// items of a list, as Go writes them.
func items(list any) []string {
	l, _ := list.([]any)
	texts := make([]string, len(l))

	for i, item := range l {
		texts[i] = fmt.Sprintf("%#v", item)
	}

	return texts
}
