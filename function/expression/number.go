package expression

import (
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// MaxExact is the largest integer up to which all integers are exact in the
// doubles that requests and responses carry.
const MaxExact = 1 << 53

// Numbers returns a copy of a JSON value for use in expressions, where path is
// what expressions call it. Integral numbers are int64. Integers that are too
// large to be exact become errors, which surface where they are used.
func Numbers(path string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			m[k] = Numbers(path+"."+k, v[k])
		}

		return m
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = Numbers(path+"["+strconv.Itoa(i)+"]", v[i])
		}

		return l
	case int64:
		return Numbers(path, float64(v))
	case float64:
		i := int64(v)
		if float64(i) != v {
			if v > MaxExact || v < -MaxExact {
				return inexact(path)
			}

			return v
		}

		if i > MaxExact || i < -MaxExact {
			return inexact(path)
		}

		return i
	}

	return v
}

func inexact(path string) ref.Val {
	return types.NewErr("%s is an integer beyond 2^53, which is not exact here; make it a string", path)
}
