package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names are those that the tests of the Ansible operator's own conversion
// have.
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
		"THIS_IS_SKIP_NOT_SK_IP":    "_this_is_skip_not_sk_ip",
		"JSONData":                  "_json_data",
		"xRay":                      "x_ray",
		"maxSize":                   "max_size",
		"größeMax":                  "größe_max",
	}

	for name, want := range cases {
		if diff := cmp.Diff(want, snakeCase(name)); diff != "" {
			t.Errorf("snakeCase(%q): -want, +got:\n%s", name, diff)
		}
	}
}
