package kubeapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"
	krt "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestLongAttackMarks has content write what takes far more memory of the provider than it has bytes. All of it goes to the
// API server as it is, or is refused.
func TestLongAttackMarks(t *testing.T) {
	const (
		configMaps = "/api/v1/namespaces/team-a/configmaps"
		jsonType   = "application/json"
		yamlType   = "application/yaml"
		// most is what one object may take of the memory, each thing that is allocated for it counted, in its own lengths.
		most = 100
	)

	fields := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, `"%x":0,`, i)
		}

		return b.String() + `"":0`
	}

	// Owners without anything have two bytes each.
	around := krt.Unknown{Raw: appendField(nil, fieldMetadata, bytes.Repeat(appendField(nil, fieldOwnerReferences, nil), maxBody/2-100))}

	message, err := around.Marshal()
	needs.OK(t, err)

	for name, tc := range map[string]struct {
		reason string
		kind   string
		body   string
		status int
		// same is true for a body that gets no longer but for the marks.
		same bool
	}{
		"Angles":   {"A bracket is a bracket, not six bytes.", jsonType, `{"data":{"a":"` + strings.Repeat("<", maxBody-100) + `"}}`, 200, true},
		"Fields":   {"Fields are not kept apart.", jsonType, `{` + fields(maxBody-100) + `}`, 200, true},
		"Labels":   {"No object has that many labels.", jsonType, `{"metadata":{"labels":{` + fields(maxBody-100) + `}}}`, 415, false},
		"Owners":   {"Nor owners.", jsonType, `{"metadata":{"ownerReferences":[` + strings.Repeat("0,", maxBody/2-100) + `0]}}`, 415, false},
		"Again":    {"An object has metadata once, and would have marks each time.", jsonType, `{` + strings.Repeat(`"metadata":{},`, maxBody/14-100) + `"a":0}`, 415, false},
		"Protobuf": {"Of Protobuf nothing is decoded.", typeProtobuf, prefixProtobuf + string(message), 200, true},
		"Aliases":  {"YAML that repeats itself would be gigabytes.", yamlType, "a: &a " + strings.Repeat("x", 10_000) + "\nb: [" + strings.Repeat("*a,", 1_000) + "*a]\n", 415, false},
		"Items":    {"Each item of a list takes a hundred times its length.", yamlType, "a: [" + strings.Repeat("b,", maxBody/2-100) + "b]\n", 415, false},
		"Tags":     {"The parser compares each directive with all others.", yamlType, strings.Repeat("%TAG !a! b\n", 10_000) + "--- a\n", 415, false},
		"Many":     {"Which of several documents is the object cannot be told.", yamlType, "a: 1\n---\nb: 1\n", 415, false},
		"Garbage":  {"What one parser cannot read another one may.", yamlType, "a: [\n", 415, false},
		"InJSON":   {"JSON that is sent as YAML may be large.", yamlType, `{"data":{"a":"` + strings.Repeat("x", maxBody-100) + `"}}`, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer", OwnerReferences: true, WatchDependents: true}
			_, way, got := marking(t, runner.Object{Namespace: "team-a", Name: "site", UID: "1-2"}, k, "")

			var before, after runtime.MemStats

			runtime.ReadMemStats(&before)

			status, _ := do(t, way, http.MethodPost, configMaps, tc.kind, tc.body)

			runtime.ReadMemStats(&after)

			if status != tc.status {
				t.Errorf("%s\nwant status %d, got %d", tc.reason, tc.status, status)
			}

			if used := after.TotalAlloc - before.TotalAlloc; used > uint64(most*(len(tc.body)+10_000)) {
				t.Errorf("%s\nan object of %d bytes took %d", tc.reason, len(tc.body), used)
			}

			if body := strings.Join(*got, ""); tc.same && len(body) > len(tc.body)+1000 {
				t.Errorf("%s\nan object of %d bytes became one of %d", tc.reason, len(tc.body), len(body))
			}
		})
	}
}

// roundTrip answers requests.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAttackRead has content write one object by very many requests at a time, which has as much metadata as the API
// server takes. What is read of it takes a bounded part of the memory.
func TestAttackRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reading atomic.Int32

		ctx, cancel := context.WithCancel(t.Context())

		kube, err := metadata.NewForConfig(&rest.Config{QPS: -1, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			reading.Add(1)
			<-ctx.Done()

			return nil, ctx.Err()
		})})
		needs.OK(t, err)

		p := &proxy{k: inputs.Kubernetes{OwnerReferences: true}, reading: semaphore.NewWeighted(maxRead), kube: kube}

		for range 100 {
			r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/api/v1/namespaces/team-a/configmaps/a", strings.NewReader("{}"))

			go p.change(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
		}

		synctest.Wait()

		if got := reading.Load(); got == 0 || got > maxRead {
			t.Errorf("Objects that are read at a time: %d", got)
		}

		cancel()
	})
}
