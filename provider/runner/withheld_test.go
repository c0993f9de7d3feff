package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// TestRunOutputs publishes outputs that arrive whole, or not at all.
func TestRunOutputs(t *testing.T) {
	t.Parallel()

	vars := []inputs.File{{
		Name: `Secret "team/db", key "vars.yml"`, Secret: true, From: redact.Source{Secret: "db", Key: "vars.yml"},
		Data: []byte("db_name: orders\ndb_schema: stock_items\ndb_password: s3cret-s3cret\nregion: eu-central-1\nhost: db.example.org\n"),
	}}

	const outputs = `
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.set_stats: {data: `

	cases := map[string]struct {
		reason   string
		data     string
		vars     string
		want     string
		withheld common.Withheld
	}{
		"Endpoint": {
			reason: "What is a connection detail, too, and not secret by its name, arrives whole.",
			data:   `{endpoint: "db.example.org:5432", port: 5432, connection_details: {host: db.example.org, port: "5432", username: app, password: s3cret-of-app}}`,
			want:   `{"endpoint":"db.example.org:5432","port":5432}`,
		},
		"Key": {
			reason: "A short value of a Secret is no secret, in no key.",
			data:   `{purchase_orders_url: "https://example.org/orders"}`,
			want:   `{"purchase_orders_url":"https://example.org/orders"}`,
		},
		"Password": {
			reason:   "An output with a secret is left out, and the list says which secret it is.",
			data:     `{url: "pg://app:{{ db_password }}@db", other: [1], deep: {a: [{b: "{{ db_password | b64encode }}"}]}, keys: "{{ {db_schema: 1} }}"}`,
			want:     `{"other":[1]}`,
			withheld: common.Withheld{"deep": "key vars.yml of Secret db is in it", "keys": "key vars.yml of Secret db is in it", "url": "key vars.yml of Secret db is in it"},
		},
		"Name": {
			reason:   "A name with a secret is not listed either.",
			data:     `{"{{ db_schema }}_url": 1, b: 2}`,
			want:     `{"b":2}`,
			withheld: common.Withheld{"": "key vars.yml of Secret db is in its name"},
		},
		"Detail": {
			reason:   "A detail that is secret by its name is one, and so is a password in a URL.",
			data:     `{a: "x s3cret-of-app", b: "1n-the-url", c: 1, connection_details: {db_password: s3cret-of-app, uri: "pg://app:1n-the-url@db"}}`,
			want:     `{"c":1}`,
			withheld: common.Withheld{"a": "the value of db_password is in it", "b": "the value of uri is in it"},
		},
		"Shown": {
			reason: "What the spec has in clear is no secret.",
			data:   `{a: "{{ region }}"}`,
			vars:   `{"here": ["eu-central-1"]}`,
			want:   `{"a":"eu-central-1"}`,
		},
		"NotShown": {
			reason:   "What a Secret alone has is one, whatever it is.",
			data:     `{a: "{{ region }}"}`,
			want:     `{}`,
			withheld: common.Withheld{"a": "key vars.yml of Secret db is in it"},
		},
		"Published": {
			reason: "It is none if it is published under a name that is not secret.",
			data:   `{a: "{{ host }}:5432", connection_details: {host: "{{ host }}"}}`,
			want:   `{"a":"db.example.org:5432"}`,
		},
		"NoLog": {
			reason:   "What no_log hides is known at the end.",
			data:     "{a: s3cret-of-app, connection_details: {password: s3cret-of-app}}}\n    no_log: true #",
			want:     `{}`,
			withheld: common.Withheld{"a": "the value of password is in it"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			run := inline(outputs + tc.data + "}\n")
			run.Inputs.VarFiles = vars

			if tc.vars != "" {
				run.Inputs.Parameters.Vars = raw(tc.vars)
			}

			res := must(t, newRunner(t), run)
			if res.Phase != common.PhaseSucceeded {
				t.Fatalf("Run(...): %s: %s", res.Phase, res.Message)
			}

			if diff := cmp.Diff(tc.want, string(res.Summary.Outputs)); diff != "" {
				t.Errorf("%s\n-want outputs, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.withheld, res.Summary.Withheld); diff != "" {
				t.Errorf("%s\n-want withheld, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
