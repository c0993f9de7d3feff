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
	const git, hub = `Secret "ns/git", key "token"`, `Secret "ns/hub", key "token"`

	of := func(p common.AnsibleRunParameters) Inputs { return Inputs{Parameters: p} }
	vars := func(text string) Inputs {
		return of(common.AnsibleRunParameters{Vars: &runtime.RawExtension{Raw: []byte(text)}})
	}
	role := func(p common.AnsibleRunParameters) Inputs {
		rs, err := p.ParseRoles()
		needs.OK(t, err)

		return Inputs{Parameters: p, Roles: rs}
	}
	project := func(version string) Inputs {
		return of(common.AnsibleRunParameters{Project: &common.Project{Src: "https://git.example.org/a", Version: version}})
	}
	account := func(name string) Inputs {
		return Inputs{Kubernetes: &Kubernetes{Namespace: "a", ServiceAccount: name}}
	}
	files := func(name string, texts ...string) (all []File) {
		for _, text := range texts {
			all = append(all, File{Name: name, Data: []byte(text)})
		}

		return all
	}
	token := func(value, rotates string) Inputs {
		return Inputs{Credentials: []File{{Name: "token", Data: []byte(value), Rotates: rotates}}}
	}
	installed := func(version string) []common.ContentItem {
		return []common.ContentItem{{Name: "a.b", Version: version}}
	}

	for name, tc := range map[string]struct {
		reason string
		a, b   Inputs
		same   bool
	}{
		"Empty":            {"Nil and empty lists are the same.", Inputs{}, Inputs{VarFiles: []File{}, Env: map[string]string{}, Roles: []common.Role{}}, true},
		"OtherAccount":     {"The effect of content depends on its rights.", account("b"), account("c"), false},
		"KeyOrder":         {"The order of keys and white space do not matter.", vars(`{"a":1,"b":{"c":true,"d":[1,2]}}`), vars(`{ "b": {"d": [1, 2], "c": true}, "a": 1 }`), true},
		"BigNumbers":       {"Numbers differ that are equal as doubles.", vars(`{"a":9007199254740993}`), vars(`{"a":9007199254740992}`), false},
		"NumbersAsWritten": {"Ansible distinguishes floats and integers.", vars(`{"a":1}`), vars(`{"a":1.0}`), false},
		"NoVars":           {"Empty vars are the same as no vars.", vars(`{}`), Inputs{}, true},
		"RoleForms":        {"One role is the same as a list with one role.", role(common.AnsibleRunParameters{Role: "a.b"}), role(common.AnsibleRunParameters{Roles: &apiextensionsv1.JSON{Raw: []byte(`[{"name":"a.b"}]`)}}), true},
		"RetryLimit":       {"The effect of a run does not depend on the number of retries.", of(common.AnsibleRunParameters{RetryLimit: ptr.To[int32](3)}), Inputs{}, true},
		"Forks":            {"The number of parallel hosts does not change the effect of a run.", of(common.AnsibleRunParameters{Forks: ptr.To[int32](7)}), Inputs{}, true},
		"Limit":            {"Other parameters are inputs.", of(common.AnsibleRunParameters{Limit: "web"}), Inputs{}, false},
		"Project":          {"A project is an input.", project("v1"), project("v2"), false},
		"PlayEnv":          {"A variable of the environment is an input.", Inputs{PlayEnv: files("A", "a")}, Inputs{PlayEnv: files("A", "b")}, false},
		"PlayEnvHidden":    {"A variable that another one overrides is not an input.", Inputs{PlayEnv: files("A", "a", "b")}, Inputs{PlayEnv: files("A", "c", "b")}, true},
		"SecretData":       {"The data of a Secret is an input.", token("a", ""), token("b", ""), false},
		"Rotated":          {"The data of a credential that rotates is not an input.", token("a", git), token("b", git), true},
		"RotatesElsewhere": {"The source of a credential that rotates is an input.", token("", git), token("", hub), false},
		"Requirements":     {"The text of requirements is an input, as for installations.", Inputs{Requirements: "roles: [a.b]\n"}, Inputs{Requirements: "roles: [a.b] # ours\n"}, false},
		"WhichList":        {"A file is not the same in another list.", Inputs{VarFiles: files("", "a: 1")}, Inputs{Inventories: files("", "a: 1")}, false},
		"Boundaries":       {"The boundaries between files matter.", Inputs{VarFiles: files("", "a", "bc")}, Inputs{VarFiles: files("", "ab", "c")}, false},
		"ConfigName":       {"The name of the configuration is not an input.", Inputs{Config: `ProviderConfig "a"`}, Inputs{Config: `ProviderConfig "b"`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := digest(t, tc.a, nil), digest(t, tc.b, nil)
			if (a == b) != tc.same || !Comparable(a, b) {
				t.Errorf("\n%s\nDigest(...): want the same: %t, got %s and %s", tc.reason, tc.same, a, b)
			}
		})
	}

	if digest(t, Inputs{}, installed("1.0.0")) == digest(t, Inputs{}, installed("1.0.1")) {
		t.Error("A new version of a collection should change the digest.")
	}
}

func digest(t *testing.T, in Inputs, collections []common.ContentItem) string {
	t.Helper()

	d, err := in.Digest([]byte("key"), collections, nil, nil)
	needs.OK(t, err)

	return d
}

// TestDigestOnDelete has fields of onDelete. Only roles that are installed for a deletion are inputs of the apply,
// since its content can use them, too.
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
		"Keep":     {"The policy is not an input.", of(with(&common.OnDelete{Policy: common.DeleteKeep}), "1"), plain, true},
		"Playbook": {"A playbook is not an input.", of(with(&common.OnDelete{Playbook: "remove.yml"}), "1"), plain, true},
		"Tags":     {"Tags of a deletion are not inputs.", of(with(&common.OnDelete{Tags: []string{"remove"}}), "1"), plain, true},
		"Role":     {"A role that is installed for a deletion is an input.", removed, plain, false},
		"Version":  {"The version of such a role is an input.", of(cleanup(""), "1", "2"), removed, false},
		"Src":      {"The source of such a role is an input.", of(cleanup("https://example.org/role"), "1", "1"), removed, false},
		"Own":      {"The applied roles are inputs.", of(cleanup(""), "2", "1"), removed, false},
		"Deletion": {"The digest of the deletion differs from that of the apply.", of(cleanup("").ForDeletion(), "1", "1"), removed, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.got == tc.was; got != tc.same {
				t.Errorf("\n%s\nDigest(...): want the same %t, got %t", tc.reason, tc.same, got)
			}
		})
	}
}

// TestDigestStays has digests that earlier versions of the provider have written into the status
// of objects. If a new version changed a digest, an upgrade would run every object
// again. So a new field must not change the digest of objects without it, and every other change
// of a digest needs another Schema.
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

	for want, in := range map[string]Inputs{
		"v4.a69cdde7.20b0ed36d4e0f3385c797727b80a8aa2910cf5e0252040eabdd84ffffa6f5b72": {},
		"v4.a69cdde7.4e0e1662a433a54be4fa4781639b5ba6bac60059c9f05eb7558ab9e79dcf910d": full,
	} {
		if got := digest(t, in, collections); got != want {
			t.Errorf("An upgrade should not run objects again.\nDigest(%+v): want %s, got %s", in, want, got)
		}
	}
}

func TestComparable(t *testing.T) {
	a := digest(t, Inputs{}, nil)

	other, err := Inputs{}.Digest([]byte("another key"), nil, nil, nil)
	needs.OK(t, err)

	for name, tc := range map[string]struct {
		reason, a, b string
		want         bool
	}{
		"Same":        {"Equal digests are comparable.", a, a, true},
		"OtherKey":    {"A lost key makes digests incomparable.", a, other, false},
		"OtherSchema": {"Digests of different schemas are not comparable.", a, "v0" + strings.TrimPrefix(a, Schema), false},
		"Never":       {"An empty text is not comparable.", "", "", false},
		"Garbage":     {"Other texts than digests are not comparable.", "abc", "abc", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Comparable(tc.a, tc.b); got != tc.want {
				t.Errorf("\n%s\nComparable(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestObjectKey has two objects with the same secret of four digits: an attacker that can create one of them, and read
// both digests, does not learn the secret of the other object.
func TestObjectKey(t *testing.T) {
	if diff := cmp.Diff("9d32086c63049f020e3425ca73a1c65589cfdd6e9ac41d009f504ff14daea964", hex.EncodeToString(ObjectKey([]byte("key"), "uid"))); diff != "" {
		t.Errorf("\nAn upgrade should not run objects again.\nObjectKey(...): -want, +got:\n%s", diff)
	}

	in := Inputs{VarFiles: []File{{Data: []byte("pin: 4711\n"), Secret: true}}}
	seen := map[string]bool{}

	for _, key := range [][]byte{[]byte("uid"), ObjectKey(nil, "uid"), ObjectKey([]byte("key"), "uid"), ObjectKey([]byte("key"), "other")} {
		d, err := in.Digest(key, nil, nil, nil)
		needs.OK(t, err)

		seen[d[strings.LastIndexByte(d, '.'):]] = true
	}

	if len(seen) != 4 {
		t.Errorf("\nEach object should have a key of its own, which only the provider can derive.\nDigest(...): %v", seen)
	}
}

// TestForeseen compares the command validate with the digest: both must agree whether a change of a field starts a run.
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
			t.Errorf("%s: the table of fields says that a change starts a run: %t; the field is an input: %t", name, again, isInput)
		}
	}
}
