package expression

import (
	"crypto/md5" //nolint:gosec // The function is for systems that expect MD5, and protects no secret.
	"crypto/sha256"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	kubernetes "k8s.io/apiserver/pkg/cel/library"
)

// These are the names of functions that are neither in CEL nor in Kubernetes.
const (
	functionJSONMarshal   = "json.marshal"
	functionJSONUnmarshal = "json.unmarshal"
	functionMerge         = "merge"
	functionFail          = "fail"
)

// libraryOptions returns CEL options with all functions: those of Kubernetes except its authorizer, those of more
// libraries of CEL, and those of this package. Unlike in Kubernetes, the values of a map literal may have different
// types, which is common for Ansible variables.
func libraryOptions() []cel.EnvOption {
	return append(ownFunctions(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3)),
		ext.TwoVarComprehensions(),
		ext.Math(ext.MathVersion(2)),
		ext.Encoders(),
		kubernetes.URLs(),
		kubernetes.Regex(),
		kubernetes.Lists(),
		kubernetes.Quantity(),
		kubernetes.IP(),
		kubernetes.CIDR(),
		kubernetes.Format(),
		kubernetes.SemverLib(kubernetes.SemverVersion(1)),
	)
}

// ownFunctions returns the functions with the same names in kro, fail, functionKey and functionRange.
// https://kro.run/docs/concepts/rgd/cel-libraries
func ownFunctions() []cel.EnvOption {
	anyMap := cel.MapType(cel.TypeParamType("K"), cel.TypeParamType("V"))

	unary := func(name string, from, to *cel.Type, of func(ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name, []*cel.Type{from}, to, cel.UnaryBinding(of)))
	}

	hash := func(name string, sum func([]byte) []byte) cel.EnvOption {
		return unary(name, cel.StringType, cel.BytesType, func(v ref.Val) ref.Val {
			s, _ := v.(types.String)
			return types.Bytes(sum([]byte(s)))
		})
	}

	return []cel.EnvOption{
		unary(functionKey, cel.TypeParamType("T"), cel.TypeParamType("T"), mapKey),
		unary(functionRange, cel.TypeParamType("T"), cel.TypeParamType("T"), inOrder),
		hash("hash.sha256", func(b []byte) []byte { s := sha256.Sum256(b); return s[:] }),
		hash("hash.md5", func(b []byte) []byte { s := md5.Sum(b); return s[:] }), //nolint:gosec // See above.
		unary(functionJSONMarshal, cel.DynType, cel.StringType, marshalJSON),
		unary(functionJSONUnmarshal, cel.StringType, cel.DynType, unmarshalJSON),
		cel.Function(functionMerge,
			cel.MemberOverload("map_merge", []*cel.Type{anyMap, anyMap}, anyMap, cel.BinaryBinding(merge))),
		// The type is that of the alternative, as in condition ? value : fail("…").
		unary(functionFail, cel.StringType, cel.TypeParamType("T"),
			func(message ref.Val) ref.Val { return types.NewErr("%v", message.Value()) }),
	}
}

// mapKey returns a valid key of a map, or an error. CEL would panic for an invalid key.
func mapKey(key ref.Val) ref.Val {
	switch key.(type) {
	case types.Bool, types.Int, types.Uint, types.Double, types.String:
		return key
	}

	return types.NewErr("the keys of a map must be strings, numbers or booleans")
}

// merge returns a map with the entries of a and b. For a key in both, the entry of b wins.
func merge(a, b ref.Val) ref.Val {
	entries := map[ref.Val]ref.Val{}

	for _, v := range []ref.Val{a, b} {
		m, ok := v.(traits.Mapper)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}

		for it := m.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			entries[k] = m.Get(k)
		}
	}

	return types.NewRefValMap(types.DefaultTypeAdapter, entries)
}
