package main

import (
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	check(t, map[string]step{
		"Computed": {
			reason: "Settings can be computed. A setting that is optional.none() is left out.",
			runs: `
- name: app
  runPolicy: "${xr.spec.policy}"
  pollInterval: "${xr.spec.every}"
  keepOutput: 24h
  managementPolicies: "${xr.spec.may}"
  tags: [base, "${xr.spec.tag}", "${xr.spec.?none}"]
  skipTags: "${xr.spec.?none}"
  limit: "web:&${xr.spec.zone}"
  timeout: "${duration('20m')}"
  retryLimit: "${xr.spec.size}"
  verbosity: "${xr.spec.?none}"`,
			spec: "policy: RunOnChange, every: 1h, may: [Observe, Update], tag: 'v1.2:a-b', zone: 'eu*,web[1:3],!db', size: 3",
			response: one(`tags: [base, "v1.2:a-b"], limit: "web:&eu*,web[1:3],!db", timeout: 20m0s, retryLimit: 3`,
				"annotations: {ansible.crossplane.io/runPolicy: RunOnChange, crossplane.io/poll-interval: 1h, ansible.crossplane.io/keepOutput: 24h}",
				"managementPolicies: [Observe, Update]"),
		},
		"Beside": {
			reason: "A computed setting does not affect other fields.",
			runs:   `[{name: app, timeout: "${duration('20m')}", varsFrom: [{value: "${xr.spec.more}"}]}]`, spec: "more: {zone: eu}",
			response: one("timeout: 20m0s, unsafeVars: {zone: eu}"),
		},
		"NoItems": {
			reason: "A list with all items left out is a problem, with a message that says what to write.",
			runs:   `[{name: app, tags: ["${xr.spec.?tag}"]}]`,
			said: "ValueNotSet app: tags: none of its items is set; write xr.spec.?field.orValue(\"…\") for an item with a default, or " +
				"\"${xr.spec.?field.optMap(f, [f])}\" in place of the list if it may be missing",
		},
		"NoList": {
			reason: "An optional list as a whole can be left out.",
			runs:   `[{name: app, verbosity: 2, tags: "${xr.spec.?tag.optMap(t, [t])}"}]`, response: one("verbosity: 2"),
		},
		"OfDefaults": {
			reason:   "A field that may hold an expression is validated as a computed one, even if it is from the defaults.",
			defaults: `limit: "$${x}", verbosity: 2, runPolicy: "${each.key == 'a' ? 'RunOnChange' : 'CheckWhenObserve'}"`, runs: "[{name: app, forEach: [a]}]",
			said: "InvalidValue app[a]: limit: must be names or patterns of hosts and groups, of letters, digits and _.-*?[] with , : & and ! between them, " +
				"as in web:&eu, and is \"${x}\"",
		},
	})
}

// A computed setting has only valid values: none is an option, a file, a template or a program for Ansible.
func TestSettingsAttacks(t *testing.T) {
	const (
		hosts = "must be names or patterns of hosts and groups"
		tags  = "must be a tag of letters, digits and _.:-"
	)

	cases := map[string]struct {
		field, value, want string
	}{
		"File":          {field: "limit", value: `"@/etc/passwd"`, want: hosts},
		"FileAmong":     {field: "limit", value: `"web,@/etc/passwd"`, want: hosts},
		"FileBehind":    {field: "limit", value: `"web:@/etc/passwd"`, want: hosts},
		"FileExcept":    {field: "limit", value: `"!@/etc/passwd"`, want: hosts},
		"Option":        {field: "limit", value: `"-i/etc/passwd"`, want: hosts},
		"OptionAmong":   {field: "limit", value: `"web,--check"`, want: hosts},
		"Regex":         {field: "limit", value: `"~(a+)+$"`, want: hosts},
		"RegexAmong":    {field: "limit", value: `"web:~(a+)+$"`, want: hosts},
		"Template":      {field: "limit", value: `"{{ lookup('pipe', 'id') }}"`, want: hosts},
		"Line":          {field: "limit", value: `"web\n@x"`, want: hosts},
		"Space":         {field: "limit", value: `"web @x"`, want: hosts},
		"Empty":         {field: "limit", value: `""`, want: hosts},
		"List":          {field: "limit", value: `[web]`, want: `must be names or patterns of hosts and groups`},
		"TagOption":     {field: "tags", value: `["--flush-cache"]`, want: "[0]: " + tags},
		"TagTwo":        {field: "tags", value: `[a, "b,never"]`, want: "[1]: " + tags},
		"TagTemplate":   {field: "skipTags", value: `["{{ x }}"]`, want: "[0]: " + tags},
		"TagFile":       {field: "skipTags", value: `["@x"]`, want: "[0]: " + tags},
		"TagNumber":     {field: "tags", value: `[1]`, want: `[0]: must be a tag of letters, digits`},
		"NoTags":        {field: "tags", value: `[]`, want: "must be a list of 1 to 1000 items, or optional.none()"},
		"NoList":        {field: "tags", value: `a`, want: `must be a list of 1 to 1000 items`},
		"Policy":        {field: "runPolicy", value: `Never`, want: `"Never" is invalid: supported values: "ObserveAndDelete", "CheckWhenObserve", "RunOnChange"`},
		"Interval":      {field: "pollInterval", value: `0s`, want: `"0s" is invalid: must be a duration of more than 0, such as 30m`},
		"Kept":          {field: "keepOutput", value: `always`, want: `"always" is invalid: must be "true", or a duration of more than 0, such as 24h`},
		"Policies":      {field: "managementPolicies", value: `[Observe, Upate]`, want: `[1]: must be one of Observe, Create, Update, Delete, LateInitialize and *, and is "Upate"`},
		"NoPolicies":    {field: "managementPolicies", value: `[]`, want: "must be a list of 1 to 1000 items, or optional.none()"},
		"PolicySet":     {field: "managementPolicies", value: `[Create]`, want: `Crossplane does not support this set: write "*" alone, or Observe with others, and Delete only with Create, or with Observe alone, and not ["Create"]`},
		"Timeout":       {field: "timeout", value: `20 minutes`, want: `"20 minutes" is invalid: must be a duration that is not negative, such as 20m`},
		"TimeoutBefore": {field: "timeout", value: `-1s`, want: `"-1s" is invalid: must be a duration that is not negative, such as 20m`},
		"Retries":       {field: "retryLimit", value: `0`, want: "0 is invalid: should be greater than or equal to 1"},
		"RetriesText":   {field: "retryLimit", value: `"3"`, want: `"3" is invalid: must be an integer`},
		"RetriesHuge":   {field: "retryLimit", value: `2147483648`, want: "2147483648 is invalid: should be less than or equal to 2147483647"},
		"Verbosity":     {field: "verbosity", value: `1.5`, want: "1.5 is invalid: must be an integer"},
		"VerbosityMax":  {field: "verbosity", value: `6`, want: "6 is invalid: should be less than or equal to 5"},
		"Approval":      {field: "approval", value: `Maybe`, want: `"Maybe" is invalid: supported values: "Required", "NotRequired"`},
		"Null":          {field: "verbosity", value: `null`, want: `"null" is invalid: must be an integer`},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := step{runs: `[{name: app, ` + tc.field + `: "${xr.spec.v}"}]`, spec: "v: " + tc.value}.respond(t)

			want := "InvalidValue app: " + tc.field + ": " + tc.want
			if strings.HasPrefix(tc.want, "[") { // It is about an item.
				want = "InvalidValue app: " + tc.field + tc.want
			}

			if !strings.HasPrefix(said(rsp), want) || namesOf(rsp) != "" {
				t.Errorf("want %q, got %v", tc.want, rsp)
			}
		})
	}
}

// An expression that can never be a valid setting is a mistake in the input.
func TestSettingsInvalid(t *testing.T) {
	step{runs: `[{name: app, runPolicy: "${1}", tags: "${'a'}", skipTags: [a, "${['b']}"], timeout: "${xr.spec.size + }", retryLimit: "${'a'}", verbosity: "2", limit: "${runs.other.outputs}"}]`}.mistakes(t,
		`runs[0].runPolicy: Invalid value: "${1}": must be of type string`,
		`runs[0].tags: Invalid value: "${'a'}": must be of type array, and is of type string`,
		`runs[0].skipTags[1]: Invalid value: "${['b']}": must be of type string, and is of type array`,
		`runs[0].timeout: Invalid value: "${xr.spec.size + }": syntax error`,
		`runs[0].retryLimit: Invalid value: "${'a'}": must be of type integer or number, and is of type string`,
		`runs[0].verbosity: Invalid value: "2": must be an integer`,
		`runs[0].limit: Invalid value: "${runs.other.outputs}": there is no run "other"`,
	)
}
