package expression

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// A program is one expression, compiled. It is safe for concurrent use.
type program struct {
	source string
	cel    cel.Program
	ast    *ast.AST
	// declared is the type of its value as JSON.
	declared *apiservercel.DeclType
	uses     uses
	schema   map[string]any
	// selections from roots.
	selections []selection
	// resources are their computed names.
	resources []resourceName
	// defaulted are the paths of the fields that the expression does without.
	defaulted [][]string
}

// A resourceName is the program that computes the name of a resource.
type resourceName struct {
	*program

	// needed is false where the expression asks whether there is one.
	needed bool
}

// evaluate the expression. A nil value without a problem is not there:
// optional.none().
func (p *program) evaluate(ctx context.Context, data *Data) (ref.Val, *Problem) {
	if err := data.Budget.exhausted(); err != nil {
		return nil, &Problem{Kind: Invalid, Message: err.Error() + ": " + p.show()}
	}

	e := &evaluation{ctx: ctx, data: data, schema: p.schema}

	v, _, err := p.cel.Eval(e)
	data.Budget.Spend(1 + e.work)

	if err != nil {
		// It may hold all of a value.
		data.Budget.Spend(ofText(len(err.Error())))

		return nil, p.problem(e, err)
	}

	return v, nil
}

// result of the expression as JSON, or as text that is put into a string. There is none (false) for optional.none().
func (p *program) result(ctx context.Context, data *Data, isText bool) (v any, ok bool, problem *Problem) {
	val, problem := p.evaluate(ctx, data)
	if problem != nil {
		return nil, false, problem
	}

	var err error

	w := writer{exact: data.exact && !isText}
	if isText {
		v, err = w.text(val)
	} else {
		v, ok, err = w.json(val)
	}

	data.Budget.Write(w.bytes)
	data.Budget.Spend(PerField * uint64(w.fields)) //nolint:gosec // It is not negative.

	if err != nil {
		return nil, false, p.unusable(err)
	}

	return v, ok, nil
}

// useAlso what the program of a local uses that this one refers to.
func (p *program) useAlso(local *program) {
	p.uses.waits = p.uses.waits || local.uses.waits
	// What the expression tests for itself, it does not need because of a local.
	add(p.uses.sets, local.uses.sets)
	add(p.uses.published, local.uses.published)

	for root, names := range p.uses.names {
		add(names, local.uses.names[root])
	}

	// Locals that refer to each other lead to the same name in many ways.
	for _, name := range local.resources {
		if !slices.Contains(p.resources, name) {
			p.resources = append(p.resources, name)
		}
	}
}

func add(names, more map[string]bool) {
	for name, needed := range more {
		if was, ok := names[name]; !ok || was {
			names[name] = was || needed
		}
	}
}

// resourcesIn data that the expression refers to, by name, are added to those that are
// known.
func (p *program) resourcesIn(ctx context.Context, data *Data, all map[string]bool) *Problem {
	join(all, p.uses.names[rootResources])

	for _, r := range p.resources {
		v, problem := r.evaluate(ctx, data)
		if problem != nil {
			return problem
		}

		name, ok := v.(types.String)
		if !ok {
			return &Problem{Kind: Invalid, Message: "the name of a resource must be a string: " + r.show()}
		}

		all[string(name)] = all[string(name)] || r.needed
	}

	return nil
}

// messageNoOverload is how CEL says that operands do not go together.
const messageNoOverload = "no such overload"

// messageKeys is the message of a map literal with a key that no map can have.
const messageKeys = "the keys of a map must be strings, numbers or booleans"

// panicMessage returns the text of a panic in words that users understand.
func panicMessage(text string) string {
	if strings.Contains(text, "hash of unhashable type") {
		return messageKeys
	}

	return text
}

// problem says why an expression has no value.
func (p *program) problem(e *evaluation, err error) *Problem {
	if e.problem != nil {
		return e.problem
	}

	var ended interpreter.EvalCancelledError
	if errors.As(err, &ended) && ended.Cause == failed {
		return &Problem{
			Kind: Invalid, Message: clip.Text(ended.Message, maxMessage),
			Plain: failsPlainly(p.ast),
		}
	}

	if bad := (unusableError{}); errors.As(err, &bad) {
		return p.unusable(err)
	}

	if at := e.missing(err); at != nil {
		if isPending(at) {
			return &Problem{Kind: Pending, Message: at.String() + " is not there yet" + origin(at)}
		}

		return &Problem{Kind: NotSet, Message: fmt.Sprintf("%s is not set; write %s if it may be missing", at, at.optional())}
	}

	message := panicMessage(clip.Text(strings.TrimPrefix(err.Error(), "evaluation error: "), maxMessage))

	if strings.HasPrefix(message, messageNoOverload) {
		message += "; the types of its operands do not go together: convert them with string(…), int(…) or double(…)"
	}

	var at *types.Err
	if errors.As(err, &at) && at.NodeID() != 0 {
		return &Problem{
			Kind:    Invalid,
			Message: message + ", here: " + point(p.source, p.ast.SourceInfo().GetStartLocation(at.NodeID())),
		}
	}

	return &Problem{Kind: Invalid, Message: message + ": " + p.show()}
}

// unusable says why a value cannot be used.
func (p *program) unusable(err error) *Problem {
	if bad := (unusableError{}); errors.As(err, &bad) {
		return new(Problem(bad))
	}

	return &Problem{Kind: Invalid, Message: err.Error() + ": " + p.show()}
}

// show the expression in one line.
func (p *program) show() string {
	return "${" + strings.Join(strings.Fields(p.source), " ") + "}"
}
