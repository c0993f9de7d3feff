package kubeapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// tokenOfAccount is the token of the account from the fake API server.
const tokenOfAccount = "token-of-the-account"

// opened returns the proxy of a run, and a client for it, with a handler as the API server.
func opened(tb testing.TB, h http.Handler) (*proxy, *rest.Config) {
	tb.Helper()

	return openedFor(tb, spec(), events.NewRecorder(events.Options{}), h)
}

// openedFor returns the proxy of a given run.
func openedFor(tb testing.TB, run runner.Spec, rec *events.Recorder, h http.Handler) (*proxy, *rest.Config) {
	tb.Helper()

	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	tb.Cleanup(server.Close)

	// The provider's own credentials must not be used.
	cfg := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, BearerToken: "token-of-the-provider"}

	a, err := New(cfg, granting(tb, nil, true))
	needs.OK(tb, err)

	opened, err := a.Open(run, "secret-of-the-run", rec)
	needs.OK(tb, err)

	tb.Cleanup(opened.Close)

	way, err := clientcmd.RESTConfigFromKubeConfig(opened.Kubeconfig())
	needs.OK(tb, err)

	p, _ := opened.(*proxy)

	return p, way
}

// do sends a request of a run. It returns the status and the body of the answer.
func do(t *testing.T, way *rest.Config, method, path, kind, body string) (int, string) {
	t.Helper()

	c, err := rest.HTTPClientFor(way)
	needs.OK(t, err)

	req, err := http.NewRequestWithContext(t.Context(), method, way.Host+path, strings.NewReader(body))
	needs.OK(t, err)

	req.Header.Set("Content-Type", kind)

	rsp, err := c.Do(req)
	needs.OK(t, err)
	defer rsp.Body.Close()

	answer, err := io.ReadAll(rsp.Body)
	needs.OK(t, err)

	return rsp.StatusCode, string(answer)
}

func spec() runner.Spec {
	return runner.Spec{Object: runner.Object{Namespace: "team-a"}, Inputs: inputs.Inputs{Kubernetes: &inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer"}}}
}

// granting returns a client that creates tokens, or returns an error, and that says whether the provider may request
// tokens.
func granting(tb testing.TB, err error, allowed bool) client.Client {
	tb.Helper()

	token := tokenOfAccount

	return interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			switch r := o.(type) {
			case *authorizationv1.SelfSubjectAccessReview:
				want := &authorizationv1.ResourceAttributes{Namespace: "team-a", Verb: "create", Resource: "serviceaccounts", Subresource: "token", Name: "deployer"}
				if diff := cmp.Diff(want, r.Spec.ResourceAttributes); diff != "" {
					tb.Errorf("asks for another right: -want, +got:\n%s", diff)
				}

				r.Status.Allowed = allowed
			case *authenticationv1.SelfSubjectReview:
				r.Status.UserInfo.Username = "system:serviceaccount:crossplane-system:provider-ansible"
			}

			return nil
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, sub string, o client.Object, r client.Object, _ ...client.SubResourceCreateOption) error {
			t, ok := r.(*authenticationv1.TokenRequest)
			if sub != "token" || o.GetNamespace() != "team-a" || o.GetName() != "deployer" || !ok {
				tb.Errorf("a request for %s of %s/%s", sub, o.GetNamespace(), o.GetName())
			}

			t.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(time.Now().Add(lifetime))}
			token += "+" // The next token differs.

			return err
		},
	})
}

func TestForward(t *testing.T) {
	var got *http.Request

	var body []byte

	_, way := opened(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)

		w.Header().Set("Audit-Id", "1")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "answer")
	}))

	c, err := rest.HTTPClientFor(way)
	needs.OK(t, err)

	path := "/apis/example.org/v1/namespaces/team-a/things/a%2Fb/status?fieldManager=x&force=true&dryRun=All"

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, way.Host+path, strings.NewReader("a: 1"))
	needs.OK(t, err)

	req.Header = http.Header{"Content-Type": {"application/apply-patch+yaml"}, "Impersonate-User": {"admin"}, "X-Remote-User": {"admin"}, "User-Agent": {"kubectl"}}

	rsp, err := c.Do(req)
	needs.OK(t, err)

	answer, _ := io.ReadAll(rsp.Body)
	_ = rsp.Body.Close()

	want := []string{
		// A client of HTTP/2 buffers four megabytes of each answer that a run does not read.
		"HTTP/1.1",
		"PATCH", path, "a: 1", "Bearer " + tokenOfAccount, "application/apply-patch+yaml", "admin", "kubectl", "", "202 Accepted", "1", "answer",
	}
	have := []string{
		got.Proto,
		got.Method, got.URL.RequestURI(), string(body), strings.Join(got.Header.Values("Authorization"), ","), got.Header.Get("Content-Type"),
		got.Header.Get("Impersonate-User"), got.UserAgent(), got.Header.Get("X-Forwarded-For"), rsp.Status, rsp.Header.Get("Audit-Id"), string(answer),
	}

	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("A request and its answer should pass unchanged, with the account's token: -want, +got:\n%s", diff)
	}

	if way.Host == "" || strings.Contains(fmt.Sprint(way.BearerToken), tokenOfAccount) {
		t.Errorf("The run should not have the account's token")
	}
}

func TestAdmit(t *testing.T) {
	asked := 0
	p, way := opened(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))

	own := "Bearer " + p.secret

	for name, tc := range map[string]struct {
		reason        string
		method        string
		authorization []string
		want          int
	}{
		"Own":         {"A request with the secret reaches the API server.", http.MethodGet, []string{own}, http.StatusOK},
		"None":        {"A request without the secret is refused.", http.MethodGet, nil, http.StatusUnauthorized},
		"Other":       {"A request with the secret of another run is refused.", http.MethodGet, []string{"Bearer " + strings.Repeat("A", len(p.secret))}, http.StatusUnauthorized},
		"Part":        {"A request with a part of the secret is refused.", http.MethodGet, []string{own[:len(own)-1]}, http.StatusUnauthorized},
		"OtherFirst":  {"The first of several headers decides.", http.MethodGet, []string{"Bearer x", own}, http.StatusUnauthorized},
		"Connect":     {"A tunnel to another host is refused.", http.MethodConnect, []string{own}, http.StatusMethodNotAllowed},
		"TokenItself": {"A request with the account's token is refused.", http.MethodGet, []string{"Bearer " + tokenOfAccount}, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			before := asked
			client := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}

			req, err := http.NewRequestWithContext(t.Context(), tc.method, way.Host+"/api", nil)
			needs.OK(t, err)

			req.Header["Authorization"] = tc.authorization

			rsp, err := client.RoundTrip(req)
			needs.OK(t, err)

			_ = rsp.Body.Close()

			if rsp.StatusCode != tc.want || (asked > before) != (tc.want == http.StatusOK) {
				t.Errorf("%s\nwant %d, got %s, and the API server was asked: %t", tc.reason, tc.want, rsp.Status, asked > before)
			}
		})
	}
}

// TestElsewhere checks that a request with the URL of another host reaches only the API server.
func TestElsewhere(t *testing.T) {
	var hosts []string

	p, way := opened(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts = append(hosts, r.Host+" "+r.URL.Path) }))

	conn, err := tls.Dial("tcp", strings.TrimPrefix(way.Host, "https://"), &tls.Config{InsecureSkipVerify: true})
	needs.OK(t, err)
	defer conn.Close()

	_, _ = fmt.Fprintf(conn, "GET http://metadata.example.org/latest/../x HTTP/1.1\r\nHost: metadata.example.org\r\nAuthorization: Bearer %s\r\n\r\n", p.secret)

	rsp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	needs.OK(t, err)

	_ = rsp.Body.Close()

	if len(hosts) != 1 || strings.Contains(hosts[0], "metadata") {
		t.Errorf("want one request to the API server, got %s: %q", rsp.Status, hosts)
	}
}

func TestWatch(t *testing.T) {
	more := make(chan struct{})

	_, way := opened(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}}`+"\n")
		_ = http.NewResponseController(w).Flush()

		select {
		case <-more:
		case <-r.Context().Done():
			close(more)
		}
	}))

	kube, err := kubernetes.NewForConfig(way)
	needs.OK(t, err)

	w, err := kube.CoreV1().ConfigMaps("team-a").Watch(t.Context(), metav1.ListOptions{})
	needs.OK(t, err)

	e := <-w.ResultChan()
	if o, ok := e.Object.(*corev1.ConfigMap); !ok || e.Type != watch.Added || o.Name != "a" {
		t.Errorf("want an event at once, got %v", e)
	}

	w.Stop()
	<-more // The end of the watch reaches the API server.
}

// TestUpgrade checks that upgraded connections, as exec and port-forward use them, work and end with the run.
func TestUpgrade(t *testing.T) {
	gone := make(chan error, 1)

	p, way := opened(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+tokenOfAccount || r.ProtoMajor != 1 {
			w.WriteHeader(http.StatusForbidden)
			return
		}

		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
		w.WriteHeader(http.StatusSwitchingProtocols)

		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			gone <- err
			return
		}
		defer conn.Close()

		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
		_, err = rw.ReadString('\n')
		gone <- err
	}))

	conn, err := tls.Dial("tcp", strings.TrimPrefix(way.Host, "https://"), &tls.Config{InsecureSkipVerify: true})
	needs.OK(t, err)
	defer conn.Close()

	_, _ = fmt.Fprintf(conn, "POST /api/v1/namespaces/a/pods/b/exec?command=sh HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", p.secret)

	answers := bufio.NewReader(conn)

	rsp, err := http.ReadResponse(answers, nil)
	if err != nil || rsp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("want an upgrade, got %v: %v", rsp, err)
	}

	_ = rsp.Body.Close()
	_, _ = io.WriteString(conn, "hello\n")

	if line, _ := answers.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("want the line of the other side, got %q", line)
	}

	p.Close()

	if err := <-gone; err == nil {
		t.Errorf("The connection to the API server should have ended with the run")
	}

	if _, err := answers.ReadByte(); err == nil {
		t.Errorf("The connection of the run should have ended with it")
	}

	if c, err := net.Dial("tcp", strings.TrimPrefix(way.Host, "https://")); err == nil {
		_ = c.Close()

		t.Errorf("Nothing should listen after the end of the run")
	}
}

func TestUnreachable(t *testing.T) {
	_, way := opened(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_ = conn.Close()
	}))

	kube, err := kubernetes.NewForConfig(way)
	needs.OK(t, err)

	_, err = kube.CoreV1().ConfigMaps("team-a").Create(t.Context(), &corev1.ConfigMap{}, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "cannot reach the API server") {
		t.Errorf("want an error about the API server, got %v", err)
	}
}

// TestUnauthorized has an answer 401 that content can cause as often as it likes, from an aggregated API or from a
// Service behind the proxy of the API server.
func TestUnauthorized(t *testing.T) {
	var got []string

	_, way := opened(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))

		w.WriteHeader(http.StatusUnauthorized)
	}))

	for range 2 {
		do(t, way, http.MethodGet, "/api/v1/namespaces/team-a/services/evil/proxy/", "", "")
	}

	if diff := cmp.Diff([]string{"Bearer " + tokenOfAccount, "Bearer " + tokenOfAccount}, got); diff != "" {
		t.Errorf("No token should be requested because of it: -want, +got:\n%s", diff)
	}
}

// TestTokens checks that tokens are renewed, and that failed requests are not repeated at once.
func TestTokens(t *testing.T) {
	bad := errors.New("no")

	for name, tc := range map[string]struct {
		reason string
		// lives is the lifetime of each token in turn; 0 for a request that fails.
		lives []time.Duration
		want  []string
	}{
		"Used":    {"A token is used during its lifetime.", []time.Duration{time.Hour}, []string{"1", "1", "1"}},
		"Renewed": {"A token is renewed before it expires.", []time.Duration{-1, time.Hour}, []string{"1", "2", "2"}},
		"Kept":    {"A token that cannot be renewed stays in use: the API server knows whether it has expired.", []time.Duration{-1, 0}, []string{"1", "1", "1"}},
		"Refused": {"After a failed request no token is requested for a time.", []time.Duration{0, time.Hour}, []string{"no", "no", "no"}},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			tokens := newSource(func() (authenticationv1.TokenRequestStatus, error) {
				lives := tc.lives[requests]

				if requests++; lives == 0 {
					return authenticationv1.TokenRequestStatus{}, bad
				}

				return authenticationv1.TokenRequestStatus{Token: fmt.Sprint(requests), ExpirationTimestamp: metav1.NewTime(time.Now().Add(lives))}, nil
			})

			var got []string

			for range tc.want {
				if token, err := tokens.Token(); err != nil {
					got = append(got, err.Error())
				} else {
					got = append(got, token.AccessToken)
				}
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
