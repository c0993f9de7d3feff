package expression

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// maxMessage is how many bytes are shown of a message that strangers may have written, for each run perhaps.
const maxMessage = 1 << 10

// A program is one expression, compiled, or the mistakes in it alone. It is safe for concurrent use.
type program struct {
	mistakes []string

	source string
	cel    cel.Program
	ast    *ast.AST
	// schema of its value, and known ones of roots.
	schema map[string]any
	known  map[string]map[string]any
	uses   uses
	// selections from roots.
	selections []selection
	// defaulted are the paths of the fields that the expression does without.
	defaulted [][]string
}

// A resourceName is the program that computes the name of a resource.
type resourceName struct {
	*program

	// needed is false where the expression asks whether there is one.
	needed bool
}

// evaluate the expression. The value is JSON. There is none (false) for optional.none().
func (p *program) evaluate(ctx context.Context, data *Data) (v any, ok bool, problem *Problem) {
	if err := data.Budget.exhausted(); err != nil {
		return nil, false, p.invalid(err)
	}

	e, w := &evaluation{ctx: ctx, data: data, known: p.known}, writer{exact: data.exact}

	val, _, err := p.cel.Eval(e)
	if err == nil {
		v, ok = w.json(val)
		err = w.err
	}

	data.Budget.Spend(1 + e.work)
	data.Budget.Write(w.bytes)

	if err != nil {
		// It may hold all of a value.
		data.Budget.Spend(ofText(len(err.Error())))

		return nil, false, p.problem(e, err)
	}

	return v, ok, nil
}

// text evaluates the expression to what is put into a string: numbers without an exponent, and integral ones without a
// point.
func (p *program) text(ctx context.Context, data *Data) (string, *Problem) {
	v, ok, problem := p.evaluate(ctx, data)

	switch {
	case problem != nil:
		return "", problem
	case !ok:
		return "", p.invalid(errors.New("there is no value to put into the string; use orValue"))
	}

	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int64:
		return fmt.Sprint(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}

	return "", p.invalid(errors.New("a list, a map or null cannot be put into a string"))
}

// invalid is the problem of a value that cannot be used.
func (p *program) invalid(err error) *Problem {
	return &Problem{Kind: Invalid, Message: err.Error() + ": " + p.show()}
}

// problem says why an expression has no value.
func (p *program) problem(e *evaluation, err error) *Problem {
	if e.problem != nil {
		return e.problem
	}

	var unusable *Problem
	if errors.As(err, &unusable) {
		return unusable
	}

	if at := e.missing(err); at != nil {
		if path := at.path(); waits(path) || path[0] == rootLocals && e.data.Locals.waits(path[1]) {
			return &Problem{Kind: Pending, Message: at.String() + " is not there yet"}
		}

		return &Problem{Kind: NotSet, Message: fmt.Sprintf("%s is not set; write %s if it may be missing", at, at.optional())}
	}

	message := clip.Text(strings.TrimPrefix(err.Error(), "evaluation error: "), maxMessage)

	var at *types.Err
	if errors.As(err, &at) && at.NodeID() != 0 {
		return &Problem{
			Kind:    Invalid,
			Message: message + ", here: " + point(p.source, p.ast.SourceInfo().GetStartLocation(at.NodeID())),
		}
	}

	return &Problem{Kind: Invalid, Message: message + ": " + p.show()}
}

// show the expression in one line.
func (p *program) show() string {
	return "${" + strings.Join(strings.Fields(p.source), " ") + "}"
}
