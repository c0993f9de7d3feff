package ansible

import (
	"regexp"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// digits matches digits that are a word: those between two letters, if the second letter has digits, too.
var digits = regexp.MustCompile(`([a-zA-Z])(\d+)([a-zA-Z]\d+)`)

// acronyms are words even within another word: VIP becomes _v_ip. paramconv looks for them in random order, which
// matters for few names with several acronyms.
var acronyms = [...]string{"HTTP", "URL", "IP"} //nolint:gochecknoglobals // Go has no constant arrays.

// SnakeCase converts a name as Ansible operators do, so that their roles work unchanged: maxSize becomes max_size, Kind
// becomes _kind.
// https://github.com/operator-framework/ansible-operator-plugins, package paramconv, as of v1.42.0.
func SnakeCase(name string) string {
	s := strings.Trim(digits.ReplaceAllString(name, "$1 $2 $3"), " ")
	if s == "" {
		return s
	}

	leading := ""
	if s[0] >= 'A' && s[0] <= 'Z' {
		leading = "_"
	}

	for _, a := range acronyms {
		s = separate(s, a)
	}

	all := words(s)

	switch all[0] {
	case "http", "url", "ip":
		leading = ""
	}

	return leading + strings.Join(all, "_")
}

// separate puts _ between the first occurrence of an acronym, or its plural, and its neighbors.
func separate(s, acronym string) string {
	before, after, ok := strings.Cut(s, acronym)
	if !ok {
		return s
	}

	if rest, ok := strings.CutPrefix(after, "s"); ok {
		acronym, after = acronym+"S", rest
	}

	switch {
	case after == "":
		return before + "_" + acronym
	case before == "":
		return acronym + "_" + after
	}

	return before + "_" + acronym + "_" + after
}

// words returns the words of a name in lower case. It splits at separators and where the case changes. Adjacent
// capitals are one word.
func words(s string) []string {
	var (
		all  []string
		word strings.Builder
	)

	flush := func() {
		all = append(all, strings.ToLower(word.String()))
		word.Reset()
	}

	runes := []rune(s)
	for i, c := range runes {
		next := ' '
		if i+1 < len(runes) {
			next = runes[i+1]
		}

		switch {
		case c == ' ' || c == '_' || c == '-':
			flush()
		case word.Len() > 0 && isUpper(c) && isLower(next):
			flush()
			word.WriteRune(c)
		case word.Len() > 0 && isLower(c) && isUpper(next):
			word.WriteRune(c)
			flush()
		default:
			word.WriteRune(c)
		}
	}

	flush()

	return all
}

func isUpper(c rune) bool { return c >= 'A' && c <= 'Z' }

func isLower(c rune) bool { return c >= 'a' && c <= 'z' }

// CostPerName is the cost of SnakeCase, in units of expression.Budget.
const CostPerName = 40

// ConversionCost returns the cost of SnakeKeys, in units of expression.Budget.
func ConversionCost(v any) uint64 { return CostPerName * countNames(v) }

// countNames returns the number of fields of all objects in a JSON value.
func countNames(v any) uint64 {
	n := uint64(0)

	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			n += 1 + countNames(v[k])
		}
	case []any:
		for i := range v {
			n += countNames(v[i])
		}
	}

	return n
}

// SnakeKeys converts the names of all fields in a JSON value. It fails when two fields of an object get the same name.
func SnakeKeys(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))

		for i := range v {
			item, err := SnakeKeys(v[i])
			if err != nil {
				return nil, err
			}

			out[i] = item
		}

		return out, nil
	case map[string]any:
		out, from := make(map[string]any, len(v)), make(map[string]string, len(v))

		for _, k := range manifest.SortedKeys(v) {
			snake := SnakeCase(k)
			if other, ok := from[snake]; ok {
				return nil, errors.Errorf("%.80q and %.80q both become %.80q", other, k, snake)
			}

			value, err := SnakeKeys(v[k])
			if err != nil {
				return nil, err
			}

			out[snake], from[snake] = value, k
		}

		return out, nil
	}

	return v, nil
}
