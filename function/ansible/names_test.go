package ansible

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestSpecial compares the reserved names with those of the installed Ansible and Jinja2.
func TestSpecial(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), filepath.Join(needs.Ansible(t), "python3"), filepath.Join("testdata", "names.py")).Output()
	needs.OK(t, err)

	var names map[string][]string
	needs.OK(t, json.Unmarshal(out, &names))

	// Between two operands, names.py cannot tell these keywords from variables.
	want := []string{"and", "else", "if", "in", "is", "or"}

	for kind, list := range names {
		if len(list) == 0 {
			t.Errorf("want names that are %s", kind)
		}

		for _, name := range list {
			if err := CheckVariable(name); err == nil && name != "_z_test_entry" {
				t.Errorf("variable(%q): want an error, it is one of Ansible's %s", name, kind)
			}

			if kind != "settings" && !strings.HasPrefix(name, prefixAnsible) {
				want = append(want, name)
			}
		}
	}

	slices.Sort(want)

	if diff := cmp.Diff(want, slices.Sorted(slices.Values(reserved[:]))); diff != "" {
		t.Errorf("reserved names: -Ansible's, +ours:\n%s", diff)
	}

	for _, name := range []string{"name", "port", "item", "loop", "tags", "hosts", "timeout", "ansible"} {
		if err := CheckVariable(name); err != nil {
			t.Errorf("variable(%q): %v", name, err)
		}
	}

	if IsComputable("_ansible_ansiballz_debugpy_config") {
		t.Error("want no computed settings of Ansible's own")
	}

	if !IsComputable("ansible_operator_meta") || CheckVariable("ansible_operator_meta") == nil {
		t.Error("want the operator's variable to be computed by Compositions, not by XRs")
	}
}

// TestSnakeCase has results of paramconv v1.42.0 of ansible-operator-plugins: for the names in its tests, and for
// acronyms within other words.
func TestSnakeCase(t *testing.T) {
	cases := map[string]string{
		"":                          "",
		"var":                       "var",
		"888":                       "888",
		"k8s_var":                   "k8s_var",
		"_k8s_var":                  "_k8s_var",
		"k8s var":                   "k8s_var",
		"size_k8s_test":             "size_k8s_test",
		"sizeK8sBuckets":            "size_k8s_buckets",
		"ThisShouldHaveUnderscores": "_this_should_have_underscores",
		"_CanYou_Handle_mixedVars":  "_can_you_handle_mixed_vars",
		"this_should_be_a_noop":     "this_should_be_a_noop",
		"egressIPs":                 "egress_ips",
		"egressIPsEgress":           "egress_ips_egress",
		"egressIPsegress":           "egress_ips_egress",
		"IPsegress":                 "_ips_egress",
		"egressIP":                  "egress_ip",
		"egressIPEgress":            "egress_ip_egress",
		"egressIPegress":            "egress_ip_egress",
		"URLegressIPEgressHTTP":     "url_egress_ip_egress_http",
		"URLsegressIPsEgressHTTPs":  "_urls_egress_ips_egress_https",
		"THIS_IS_SKIP_NOT_SK_IP":    "_this_is_sk_ip__not_sk_ip",
		"VIP":                       "_v_ip",
		"IPAM":                      "ip_am",
		"HTTPS":                     "http_s",
		"IP":                        "__ip",
		"URLs":                      "__urls",
		"dbVIPs":                    "db_v_ips",
		"JSONData":                  "_json_data",
		"xRay":                      "x_ray",
		"maxSize":                   "max_size",
		"größeMax":                  "größe_max",
	}

	for name, want := range cases {
		if diff := cmp.Diff(want, SnakeCase(name)); diff != "" {
			t.Errorf("snakeCase(%q): -want, +got:\n%s", name, diff)
		}
	}
}
