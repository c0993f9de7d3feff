package kubeapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	krt "k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
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
	owners := strings.Repeat(string(appendField(nil, fieldOwnerReferences, nil)), maxBody/2-100)
	around := krt.Unknown{Raw: appendField(nil, fieldMetadata, []byte(owners))}

	message, err := around.Marshal()
	if err != nil {
		t.Fatal(err)
	}

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
		"Labels":   {"Nobody has that many labels.", jsonType, `{"metadata":{"labels":{` + fields(maxBody-100) + `}}}`, 415, false},
		"Owners":   {"Nor owners.", jsonType, `{"metadata":{"ownerReferences":[` + strings.Repeat("0,", maxBody/2-100) + `0]}}`, 415, false},
		"Again":    {"An object has metadata once, and would have marks each time.", jsonType, `{` + strings.Repeat(`"metadata":{},`, maxBody/14-100) + `"a":0}`, 415, false},
		"Protobuf": {"In no format.", typeProtobuf, string(prefixProtobuf()) + string(message), 415, false},
		"Aliases":  {"YAML that repeats itself would be gigabytes.", yamlType, "a: &a " + strings.Repeat("x", 10_000) + "\nb: [" + strings.Repeat("*a,", 1_000) + "*a]\n", 415, false},
		"Items":    {"Each item of a list takes a hundred times its length.", yamlType, "a: [" + strings.Repeat("b,", maxBody/2-100) + "b]\n", 415, false},
		"Tags":     {"The parser compares each directive with all others.", yamlType, strings.Repeat("%TAG !a! b\n", 10_000) + "--- a\n", 415, false},
		"Many":     {"Nobody can tell which of several documents is the object.", yamlType, "a: 1\n---\nb: 1\n", 415, false},
		"Garbage":  {"What one parser cannot read another one may.", yamlType, "a: [\n", 415, false},
		"InJSON":   {"Who sends JSON as YAML may send much.", yamlType, `{"data":{"a":"` + strings.Repeat("x", maxBody-100) + `"}}`, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer", OwnerReferences: true, WatchDependents: true}
			_, c, host, got := marking(t, runner.Object{Namespace: "team-a", Name: "site", UID: "1-2"}, k, "")

			var before, after runtime.MemStats

			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, host+configMaps, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}

			req.Header.Set("Content-Type", tc.kind)
			runtime.ReadMemStats(&before)

			rsp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}

			_ = rsp.Body.Close()

			runtime.ReadMemStats(&after)

			if rsp.StatusCode != tc.status {
				t.Errorf("%s\nwant status %d, got %s", tc.reason, tc.status, rsp.Status)
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

// TestAttackRead has content write one object by very many requests at a time, which has as much metadata as the API
// server takes. What is read of it takes a bounded part of the memory.
func TestAttackRead(t *testing.T) {
	const many = 100

	t.Run("Before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var reading atomic.Int32

			ctx, cancel := context.WithCancel(t.Context())
			m := &marker{owns: true, answers: semaphore.NewWeighted(maxMemory), get: func(*http.Request) (*metav1.PartialObjectMetadata, error) {
				reading.Add(1)
				<-ctx.Done()

				return nil, ctx.Err()
			}}

			for range many {
				go m.makes(httptest.NewRequestWithContext(ctx, http.MethodPut, "/", nil), wayReplace)
			}

			synctest.Wait()
			cancel()

			if got := reading.Load(); got == 0 || got > maxMemory/maxBody {
				t.Errorf("Objects that are read at a time: %d", got)
			}
		})
	})

	t.Run("After", func(t *testing.T) {
		m := &marker{object: runner.Object{UID: "1-2"}, labels: true, answers: semaphore.NewWeighted(maxMemory)}
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), targetKey{}, target{}), http.MethodPut, "/", nil)
		body := &atEnd{Reader: strings.NewReader("{}"), end: make(chan struct{})}
		learned := make(chan error, 1)

		m.decoding.Lock()

		go func() {
			learned <- m.learn(&http.Response{StatusCode: http.StatusOK, Request: r, Body: body, ContentLength: 2})
		}()

		<-body.end

		select {
		case <-learned:
			t.Error("An answer should be decoded when nothing else of the run is.")
		case <-time.After(50 * time.Millisecond):
			m.decoding.Unlock()

			if err := <-learned; err != nil {
				t.Error(err)
			}
		}
	})
}

// atEnd tells when it was read.
type atEnd struct {
	io.Reader

	once sync.Once
	end  chan struct{}
}

func (a *atEnd) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if err != nil {
		a.once.Do(func() { close(a.end) })
	}

	return n, err
}

func (a *atEnd) Close() error { return nil }
