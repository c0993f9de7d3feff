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

// maxMessage is the maximum length in bytes of a message that may contain values of the XR. Each run may show it.
const maxMessage = 1 << 10

// A program is a compiled expression. It has only mistakes if the expression has any. It is safe for concurrent use.
type program struct {
	mistakes []string

	source string
	cel    cel.Program
	ast    *ast.AST
	// schema is the schema of the value, and known has the schemas of roots by name.
	schema     map[string]any
	known      map[string]map[string]any
	uses       uses
	selections []selection
	// defaulted are the paths of fields that may be missing, see Environment.defaulted.
	defaulted [][]string
}

// A resourceName is the expression of the computed name of a resource, as in resources["disk-" + each.key].
type resourceName struct {
	*program

	// needed is false if the expression around it tests the existence of the resource.
	needed bool
}

// evaluate returns the value of the expression as JSON. ok is false for optional.none(), and for a problem.
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
		// The error may contain a whole value.
		data.Budget.Spend(textWork(len(err.Error())))

		return nil, false, p.problem(e, err)
	}

	return v, ok, nil
}

// text returns the value of the expression as a part of a string. Numbers have no exponent, and integers no decimal
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

// invalid returns an Invalid problem with an error and the expression.
func (p *program) invalid(err error) *Problem {
	return &Problem{Kind: Invalid, Message: err.Error() + ": " + p.show()}
}

// problem returns the problem for an error of an evaluation.
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

// show returns the expression in one line.
func (p *program) show() string { return "${" + strings.Join(strings.Fields(p.source), " ") + "}" }
