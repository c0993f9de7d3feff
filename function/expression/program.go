package expression

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// A program is one expression, compiled. It is safe for concurrent use.
type program struct {
	source string
	cel    cel.Program
	output *cel.Type
	uses   uses
}

// compile an expression. Each error shows the expression, and points into it.
func (e *Environment) compile(path *field.Path, source string) (*program, field.ErrorList) {
	value := "${" + source + "}"

	ast, issues := e.cel.Compile(source)
	if issues.Err() != nil {
		errs := make(field.ErrorList, 0, len(issues.Errors()))
		for _, err := range issues.Errors() {
			errs = append(errs, field.Invalid(path, value, explain(source, err)))
		}

		return nil, errs
	}

	u, err := usesOf(ast.NativeRep())
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, value, err.Error())}
	}

	p, err := e.cel.Program(ast,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(celconfig.PerCallLimit),
		cel.CostTracking(&library.CostEstimator{}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency),
	)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, value, err.Error())}
	}

	return &program{source: source, cel: p, output: ast.OutputType(), uses: u}, nil
}

// explain what is wrong with an expression, and where.
func explain(source string, err *common.Error) string {
	message := strings.TrimSuffix(err.Message, " (in container '')")

	if message == "undeclared reference to 'each'" {
		message = "each is there only in a run with forEach"
	}

	if name, ok := strings.CutPrefix(message, "undefined field '"); ok {
		name = strings.TrimSuffix(name, "'")

		for root, what := range map[string]string{rootRuns: "run", rootRequired: "required resource"} {
			if strings.Contains(source, root+"."+name) || strings.Contains(source, root+".?"+name) {
				message = fmt.Sprintf("there is no %s %q", what, name)
			}
		}
	}

	return fmt.Sprintf("%s, here: %s", message, point(source, err.Location))
}

// point shows what is around a location in a source, with a ▸ before it.
func point(source string, at common.Location) string {
	const around = 60

	lines := strings.Split(source, "\n")
	if at.Line() < 1 || at.Line() > len(lines) {
		return source
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

// evaluate the expression. A nil value without a problem is not there:
// optional.none().
func (p *program) evaluate(ctx context.Context, data Data) (ref.Val, *Problem) {
	v, _, err := p.cel.ContextEval(ctx, data.roots())
	if err != nil {
		return nil, p.problem(data, err)
	}

	return v, nil
}

// problem says why an expression has no value. A key that is missing is looked
// up among the paths of the expression, to tell what is not there yet from what
// was never set.
func (p *program) problem(data Data, err error) *Problem {
	for _, path := range p.uses.paths {
		m, ok := path.missing(data)
		if !ok || !m.explains(err) {
			continue
		}

		if m.pending() {
			return &Problem{Kind: Pending, Message: m.String() + " is not there yet" + m.hint()}
		}

		return &Problem{Kind: NotSet, Message: fmt.Sprintf("%s is not set; write %s if it may be missing", m, m.optional())}
	}

	message := strings.TrimPrefix(err.Error(), "evaluation error: ")

	return &Problem{Kind: Invalid, Message: fmt.Sprintf("%s: ${%s}", message, strings.Join(strings.Fields(p.source), " "))}
}
