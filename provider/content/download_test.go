package content

import (
	"archive/tar"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// archived returns the inputs of a run with an archive as its project.
func archived(src string, credentials map[string]string) inputs.Inputs {
	in := inputs.Inputs{Parameters: common.AnsibleRunParameters{Project: &common.Project{Src: src}}, Env: map[string]string{}}
	for name, text := range credentials {
		in.Credentials = append(in.Credentials, inputs.File{Name: name, Data: []byte(text)})
	}

	if credentials["ca.crt"] != "" {
		in.Env["SSL_CERT_FILE"] = "ca.crt"
	}

	return in
}

// TestProjectArchiveRedirect downloads archives from where their servers say that they are.
func TestProjectArchiveRedirect(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	site := tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "site.yml"})
	passwords := make(chan string, 1)
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passwords <- r.Header.Get("Authorization")

		_, _ = w.Write(site)
	}))
	t.Cleanup(storage.Close)

	source := func(start func(http.Handler) *httptest.Server, to string) *httptest.Server {
		s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, password, _ := r.BasicAuth(); password != secret {
				w.WriteHeader(http.StatusUnauthorized)

				return
			}

			http.Redirect(w, r, to+"/presigned?signature=1", http.StatusFound)
		}))
		t.Cleanup(s.Close)

		return s
	}

	for name, tc := range map[string]struct {
		reason string
		source *httptest.Server
	}{
		"Host": {reason: "Another host is not told the password.", source: source(httptest.NewServer, strings.Replace(storage.URL, "127.0.0.1", "localhost", 1))},
		"Port": {reason: "Nor is another port of the same host.", source: source(httptest.NewServer, storage.URL)},
		"HTTP": {reason: "Nor is anybody on the way, where the redirect leaves TLS.", source: source(httptest.NewTLSServer, storage.URL)},
	} {
		t.Run(name, func(t *testing.T) {
			credentials := map[string]string{".netrc": "machine 127.0.0.1 login me password " + secret + "\n"}
			if cert := tc.source.Certificate(); cert != nil {
				credentials["ca.crt"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
			}

			ensure(t, newStore(t, t.TempDir()), request(t, archived(tc.source.URL+"/site.tar", credentials)))

			if got := <-passwords; got != "" {
				t.Errorf("\n%s\nAuthorization: %q", tc.reason, got)
			}
		})
	}
}

// TestProjectArchiveBrokenOff downloads an archive, and the connection ends between the first member and the end of the
// header of the second, where a tar that is not compressed looks complete.
func TestProjectArchiveBrokenOff(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	const block = 512

	site := tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "site.yml"}, tar.Header{Typeflag: tar.TypeReg, Name: "group_vars/all.yml"})
	for name, tc := range map[string]struct {
		reason string
		header string
		err    string
	}{
		"Length":  {reason: "What is shorter than its length broke off.", header: "Content-Length: " + strconv.Itoa(len(site)), err: "the connection ended before the end of the file"},
		"Chunked": {reason: "So did what has no last chunk.", header: "Transfer-Encoding: chunked", err: "IncompleteRead(0 bytes read)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, out, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				defer conn.Close()

				body := site[:2*block+100]
				if name == "Chunked" {
					body = fmt.Appendf(nil, "%x\r\n%s", len(site), body)
				}

				_, _ = fmt.Fprintf(out, "HTTP/1.1 200 OK\r\n%s\r\n\r\n%s", tc.header, body)
				_ = out.Flush()
			}))
			t.Cleanup(s.Close)

			url := s.URL + "/site-1.4.0.tar"

			_, _, err := newStore(t, t.TempDir()).Ensure(t.Context(), request(t, archived(url, nil)))
			if diff := cmp.Diff("cannot install project: Failed to download the file "+url+": "+tc.err, message(err)); diff != "" {
				t.Errorf("\n%s\nEnsure(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
