package inputs

import (
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestDigest(t *testing.T) {
	limit := int32(3)
	forks := int32(7)

	vars := func(text string) Inputs {
		return Inputs{Parameters: common.AnsibleRunParameters{Vars: &runtime.RawExtension{Raw: []byte(text)}}}
	}

	role := func(role string, roles string) Inputs {
		in := Inputs{Parameters: common.AnsibleRunParameters{Role: role}}
		if roles != "" {
			in.Parameters.Roles = &apiextensionsv1.JSON{Raw: []byte(roles)}
		}

		rs, err := in.Parameters.ParseRoles()
		needs.OK(t, err)

		in.Roles = rs

		return in
	}

	for name, tc := range map[string]struct {
		reason string
		a, b   Inputs
		ca, cb []common.ContentItem
		same   bool
	}{
		"Empty": {
			reason: "Nothing and nothing are the same.",
			a:      Inputs{},
			b:      Inputs{VarFiles: []File{}, Env: map[string]string{}, Roles: []common.Role{}},
			ca:     []common.ContentItem{},
			same:   true,
		},
		"OtherAccount": {
			reason: "What content does depends on its rights.",
			a:      Inputs{Kubernetes: &Kubernetes{Namespace: "a", ServiceAccount: "b"}},
			b:      Inputs{Kubernetes: &Kubernetes{Namespace: "a", ServiceAccount: "c"}},
		},
		"KeyOrder": {
			reason: "The order of keys and white space mean nothing.",
			a:      vars(`{"a":1,"b":{"c":true,"d":[1,2]}}`),
			b:      vars(`{ "b": {"d": [1, 2], "c": true}, "a": 1 }`),
			same:   true,
		},
		"BigNumbers": {
			reason: "Numbers that a double cannot tell apart differ.",
			a:      vars(`{"a":9007199254740993}`),
			b:      vars(`{"a":9007199254740992}`),
		},
		"NumbersAsWritten": {
			reason: "A float is not an integer to Ansible.",
			a:      vars(`{"a":1}`),
			b:      vars(`{"a":1.0}`),
		},
		"NoVars": {
			reason: "Empty vars are no vars.",
			a:      vars(`{}`),
			b:      Inputs{},
			same:   true,
		},
		"RoleForms": {
			reason: "One role means the same as a list of one.",
			a:      role("a.b", ""),
			b:      role("", `[{"name":"a.b"}]`),
			same:   true,
		},
		"RetryLimit": {
			reason: "No single run depends on the number of retries.",
			a:      Inputs{Parameters: common.AnsibleRunParameters{RetryLimit: &limit}},
			b:      Inputs{},
			same:   true,
		},
		"Forks": {
			reason: "How many hosts are worked on at a time changes nothing on them.",
			a:      Inputs{Parameters: common.AnsibleRunParameters{Forks: &forks}},
			b:      Inputs{},
			same:   true,
		},
		"Limit": {
			reason: "Other parameters are inputs.",
			a:      Inputs{Parameters: common.AnsibleRunParameters{Limit: "web"}},
			b:      Inputs{},
		},
		"Project": {
			reason: "So is a project.",
			a:      Inputs{Parameters: common.AnsibleRunParameters{Project: &common.Project{Src: "https://git.example.org/a", Version: "v1"}}},
			b:      Inputs{Parameters: common.AnsibleRunParameters{Project: &common.Project{Src: "https://git.example.org/a", Version: "v2"}}},
		},
		"PlayEnv": {
			reason: "A changed variable of the environment is a changed input.",
			a:      Inputs{PlayEnv: []File{{Name: "A", Data: []byte("a")}}},
			b:      Inputs{PlayEnv: []File{{Name: "A", Data: []byte("b")}}},
		},
		"PlayEnvHidden": {
			reason: "One that another takes the place of is none.",
			a:      Inputs{PlayEnv: []File{{Name: "A", Data: []byte("a")}, {Name: "A", Data: []byte("b")}}},
			b:      Inputs{PlayEnv: []File{{Name: "A", Data: []byte("c")}, {Name: "A", Data: []byte("b")}}},
			same:   true,
		},
		"SecretData": {
			reason: "A changed Secret is a changed input.",
			a:      Inputs{Credentials: []File{{Name: "token", Data: []byte("a")}}},
			b:      Inputs{Credentials: []File{{Name: "token", Data: []byte("b")}}},
		},
		"Rotated": {
			reason: "A credential that rotates is the same with another value.",
			a:      Inputs{Credentials: []File{{Name: "token", Data: []byte("a"), Rotates: `Secret "ns/git", key "token"`}}},
			b:      Inputs{Credentials: []File{{Name: "token", Data: []byte("b"), Rotates: `Secret "ns/git", key "token"`}}},
			same:   true,
		},
		"RotatesElsewhere": {
			reason: "Where such a credential comes from is an input.",
			a:      Inputs{Credentials: []File{{Name: "token", Rotates: `Secret "ns/git", key "token"`}}},
			b:      Inputs{Credentials: []File{{Name: "token", Rotates: `Secret "ns/hub", key "token"`}}},
		},
		"Requirements": {
			reason: "Requirements count as written, as they do for what is installed.",
			a:      Inputs{Requirements: "roles: [a.b]\n"},
			b:      Inputs{Requirements: "roles: [a.b] # ours\n"},
		},
		"WhichList": {
			reason: "A file is not the same in another place.",
			a:      Inputs{VarFiles: []File{{Data: []byte("a: 1")}}},
			b:      Inputs{Inventories: []File{{Data: []byte("a: 1")}}},
		},
		"Boundaries": {
			reason: "Text does not flow from one file into the next.",
			a:      Inputs{VarFiles: []File{{Data: []byte("a")}, {Data: []byte("bc")}}},
			b:      Inputs{VarFiles: []File{{Data: []byte("ab")}, {Data: []byte("c")}}},
		},
		"ConfigName": {
			reason: "The same configuration under another name changes nothing.",
			a:      Inputs{Config: `ProviderConfig "a"`},
			b:      Inputs{Config: `ProviderConfig "b"`},
			same:   true,
		},
		"ResolvedVersion": {
			reason: "A new version of a collection is a changed input.",
			ca:     []common.ContentItem{{Name: "a.b", Version: "1.0.0"}},
			cb:     []common.ContentItem{{Name: "a.b", Version: "1.0.1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := digest(t, tc.a, tc.ca)
			b := digest(t, tc.b, tc.cb)

			if diff := cmp.Diff(tc.same, a == b); diff != "" {
				t.Errorf("\n%s\nDigest(...): -want same, +got same:\n%s", tc.reason, diff)
			}

			if !Comparable(a, b) {
				t.Errorf("\n%s\nComparable(%q, %q): want true", tc.reason, a, b)
			}
		})
	}
}

func digest(t *testing.T, in Inputs, collections []common.ContentItem) string {
	t.Helper()

	d, err := in.Digest([]byte("key"), collections, nil, nil)
	needs.OK(t, err)

	return d
}

// TestDigestOnDelete says what of a deletion is an input of the apply: the roles that are installed for it, since what
// is applied finds them, too.
func TestDigestOnDelete(t *testing.T) {
	of := func(in Inputs, versions ...string) string {
		roles := make([]common.ContentItem, len(versions))
		for i, v := range versions {
			roles[i] = common.ContentItem{Name: []string{"acme.web", "acme.cleanup"}[i], Version: v}
		}

		d, err := in.Digest([]byte("key"), nil, roles, nil)
		needs.OK(t, err)

		return d
	}
	with := func(o *common.OnDelete, removal ...common.Role) Inputs {
		in := Inputs{Parameters: common.AnsibleRunParameters{Role: "acme.web", OnDelete: o}, Roles: []common.Role{{Name: "acme.web"}}}
		if o.Replaces() {
			in.Required = slices.Concat(in.Roles, removal)
		}

		return in
	}
	cleanup := func(src string) Inputs {
		return with(&common.OnDelete{Role: "acme.cleanup"}, common.Role{Name: "acme.cleanup", Src: src})
	}
	plain, removed := of(with(nil), "1"), of(cleanup(""), "1", "1")

	for name, tc := range map[string]struct {
		reason   string
		got, was string
		same     bool
	}{
		"Keep":     {"A policy is none.", of(with(&common.OnDelete{Policy: common.DeleteKeep}), "1"), plain, true},
		"Playbook": {"Nor is a playbook.", of(with(&common.OnDelete{Playbook: "remove.yml"}), "1"), plain, true},
		"Tags":     {"Nor are tags.", of(with(&common.OnDelete{Tags: []string{"remove"}}), "1"), plain, true},
		"Role":     {"A role that is installed for it is.", removed, plain, false},
		"Version":  {"So is its version.", of(cleanup(""), "1", "2"), removed, false},
		"Src":      {"So is where it comes from.", of(cleanup("https://example.org/role"), "1", "1"), removed, false},
		"Own":      {"The roles that are applied are.", of(cleanup(""), "2", "1"), removed, false},
		"Deletion": {"What is approved for a deletion is something else.", of(cleanup("").ForDeletion(), "1", "1"), removed, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.got == tc.was; got != tc.same {
				t.Errorf("\n%s\nDigest(...): want the same %t, got %t", tc.reason, tc.same, got)
			}
		})
	}
}

// TestDigestStays has digests that earlier versions have written into the status
// of objects. A digest that changes with the provider would run every object
// again on an upgrade: a new field must not matter where it is not set, and what
// has to change the digest changes Schema, too.
func TestDigestStays(t *testing.T) {
	collections := []common.ContentItem{{Name: "acme.web", Version: "1.0.0"}}
	full := Inputs{
		Parameters: common.AnsibleRunParameters{
			Role:  "acme.web.page",
			Hosts: "web",
			Vars:  &runtime.RawExtension{Raw: []byte(`{"port":8080,"names":["a","b"]}`)},
			VarFiles: []common.VarFile{{
				Source:          common.VarFileSourceConfigMapKey,
				ConfigMapKeyRef: &common.KeySelector{Name: "vars", Key: "vars.yaml"},
			}},
			InventoryInline: "web ansible_host=web.example.org\n",
			Tags:            []string{"deploy"},
			Forks:           ptr.To[int32](5),
			StateVariable:   &common.StateVariable{Name: "state", Present: "started", Absent: "absent"},
		},
		Roles:        []common.Role{{Name: "acme.web.page"}},
		VarFiles:     []File{{Name: "vars", Data: []byte("title: Hello\n")}},
		Inventories:  []File{{Data: []byte("web ansible_host=web.example.org\n")}},
		Credentials:  []File{{Name: ".git-credentials", Data: []byte("line"), Secret: true}},
		Requirements: "collections: [{name: acme.web, version: 1.0.0}]\n",
		Env:          map[string]string{"ANSIBLE_TIMEOUT": "5"},
	}

	for name, tc := range map[string]struct {
		in   Inputs
		want string
	}{
		"Empty": {
			in:   Inputs{},
			want: "v4.a69cdde7.20b0ed36d4e0f3385c797727b80a8aa2910cf5e0252040eabdd84ffffa6f5b72",
		},
		"Full": {
			in:   full,
			want: "v4.a69cdde7.4e0e1662a433a54be4fa4781639b5ba6bac60059c9f05eb7558ab9e79dcf910d",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, digest(t, tc.in, collections)); diff != "" {
				t.Errorf("\nAn upgrade runs nothing again.\nDigest(...): -want, +got:\n%s", diff)
			}
		})
	}
}

func TestComparable(t *testing.T) {
	in := Inputs{}
	a := digest(t, in, nil)

	other, err := in.Digest([]byte("another key"), nil, nil, nil)
	needs.OK(t, err)

	for name, tc := range map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Same":        {reason: "Equal digests are comparable.", a: a, b: a, want: true},
		"OtherKey":    {reason: "A lost key makes digests incomparable.", a: a, b: other},
		"OtherSchema": {reason: "So does another schema.", a: a, b: "v0" + strings.TrimPrefix(a, Schema)},
		"Never":       {reason: "No digest is not comparable, not even with none.", a: "", b: ""},
		"Garbage":     {reason: "What is not a digest is not comparable.", a: "abc", b: "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Comparable(tc.a, tc.b)); diff != "" {
				t.Errorf("\n%s\nComparable(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestObjectKey has two objects with the same secret of four digits: an attacker that may create one of them, and see
// both digests, learns nothing of the other's.
func TestObjectKey(t *testing.T) {
	if diff := cmp.Diff("9d32086c63049f020e3425ca73a1c65589cfdd6e9ac41d009f504ff14daea964", hex.EncodeToString(ObjectKey([]byte("key"), "uid"))); diff != "" {
		t.Errorf("\nAn upgrade runs nothing again.\nObjectKey(...): -want, +got:\n%s", diff)
	}

	in := Inputs{VarFiles: []File{{Data: []byte("pin: 4711\n"), Secret: true}}}
	seen := map[string]bool{}

	for _, key := range [][]byte{[]byte("uid"), ObjectKey(nil, "uid"), ObjectKey([]byte("key"), "uid"), ObjectKey([]byte("key"), "other")} {
		d, err := in.Digest(key, nil, nil, nil)
		needs.OK(t, err)

		seen[d[strings.LastIndexByte(d, '.'):]] = true
	}

	if len(seen) != 4 {
		t.Errorf("\nEach object has a key of its own, which only the provider can make.\nDigest(...): %v", seen)
	}
}

// TestForeseen: what validate says of another value of a field in a Composition is what its digest does.
func TestForeseen(t *testing.T) {
	p := common.AnsibleRunParameters{}
	for _, f := range reflect.ValueOf(&p).Elem().Fields() {
		switch f.Kind() {
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("%s: this test cannot set it", f.Type())
		}
	}

	canonical, err := canonicalParameters(p)
	needs.OK(t, err)

	canonical["role"], canonical["roles"] = "x", "x" // Inputs has these in another form.

	for _, name := range fields.Names(func(f fields.Field) bool { return f.Part == fields.ForProvider }) {
		_, isInput := canonical[name]
		if again := fields.Of(name).Action == fields.RunAgain; again != isInput {
			t.Errorf("%s: the table of fields says that it runs again: %t; it is an input: %t", name, again, isInput)
		}
	}
}
