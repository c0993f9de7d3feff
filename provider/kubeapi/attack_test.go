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

// TestLongAttackMarks has content write objects that would take far more memory than their length. Each goes to the API
// server unchanged but for the marks, or is refused.
func TestLongAttackMarks(t *testing.T) {
	const (
		configMaps = "/api/v1/namespaces/team-a/configmaps"
		jsonType   = "application/json"
		yamlType   = "application/yaml"
		// most is the largest memory for one object, all allocations counted, as a multiple of its length.
		most = 100
	)

	fields := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, `"%x":0,`, i)
		}

		return b.String() + `"":0`
	}

	// An empty owner has two bytes.
	around := krt.Unknown{Raw: appendField(nil, fieldMetadata, bytes.Repeat(appendField(nil, fieldOwnerReferences, nil), maxBody/2-100))}

	message, err := around.Marshal()
	needs.OK(t, err)

	for name, tc := range map[string]struct {
		reason string
		kind   string
		body   string
		status int
		// same is true for a body that gets longer only by the marks.
		same bool
	}{
		"Angles":   {"Brackets are not escaped, which would take six bytes each.", jsonType, `{"data":{"a":"` + strings.Repeat("<", maxBody-100) + `"}}`, 200, true},
		"Fields":   {"Fields beside metadata are not decoded.", jsonType, `{` + fields(maxBody-100) + `}`, 200, true},
		"Labels":   {"An object with too many labels is refused.", jsonType, `{"metadata":{"labels":{` + fields(maxBody-100) + `}}}`, 415, false},
		"Owners":   {"An object with too many owners is refused.", jsonType, `{"metadata":{"ownerReferences":[` + strings.Repeat("0,", maxBody/2-100) + `0]}}`, 415, false},
		"Again":    {"An object with metadata several times is refused.", jsonType, `{` + strings.Repeat(`"metadata":{},`, maxBody/14-100) + `"a":0}`, 415, false},
		"Protobuf": {"Objects in Protobuf are not decoded.", typeProtobuf, prefixProtobuf + string(message), 200, true},
		"Aliases":  {"YAML with aliases, which would become gigabytes, is refused.", yamlType, "a: &a " + strings.Repeat("x", 10_000) + "\nb: [" + strings.Repeat("*a,", 1_000) + "*a]\n", 415, false},
		"Items":    {"Long YAML is refused: an item of a list takes a hundred times its length.", yamlType, "a: [" + strings.Repeat("b,", maxBody/2-100) + "b]\n", 415, false},
		"Tags":     {"Many directives, each of which the parser compares with all others, are refused.", yamlType, strings.Repeat("%TAG !a! b\n", 10_000) + "--- a\n", 415, false},
		"Many":     {"Several documents are refused.", yamlType, "a: 1\n---\nb: 1\n", 415, false},
		"Garbage":  {"Invalid YAML is refused, since another parser may accept it.", yamlType, "a: [\n", 415, false},
		"InJSON":   {"Large JSON that is sent as YAML is accepted.", yamlType, `{"data":{"a":"` + strings.Repeat("x", maxBody-100) + `"}}`, 200, true},
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

// roundTrip answers requests with a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAttackRead has content write an object with as much metadata as the API server accepts, in very many concurrent
// requests. The memory for bodies is bounded.
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
