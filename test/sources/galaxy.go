package sources

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A Galaxy is a server that collections and roles are published on. It speaks
// the v3 API for collections and, once there are some, the v1 API for roles, as
// far as ansible-galaxy uses them to install. Its paths end with those of the API, so that any base
// URL will do, such as that of a repository of an Automation Hub.
// Source: galaxy/api.py of ansible-core.
type Galaxy struct {
	mu          sync.Mutex
	collections []*artifact
	roles       []role
	refresh     string
	access      string
}

// An artifact is a collection in an archive, with what that says of itself.
type artifact struct {
	Info struct {
		Namespace    string            `json:"namespace"`
		Name         string            `json:"name"`
		Version      string            `json:"version"`
		Dependencies map[string]string `json:"dependencies"`
	} `json:"collection_info"`

	data       []byte
	signatures []map[string]string
	sha256     string
}

type role struct {
	owner, name, version, url string
}

// NewGalaxy with archives that ansible-galaxy collection build made.
func NewGalaxy(tb testing.TB, archives ...string) *Galaxy {
	tb.Helper()

	g := &Galaxy{}
	for _, archive := range archives {
		g.Publish(tb, archive)
	}

	return g
}

// Publish an archive that ansible-galaxy collection build made.
func (g *Galaxy) Publish(tb testing.TB, archive string) {
	tb.Helper()

	data := []byte(needs.Read(tb, archive))
	a := &artifact{data: data, sha256: fmt.Sprintf("%x", sha256.Sum256(data))}
	needs.OK(tb, json.Unmarshal(manifest(tb, data), a))

	g.mu.Lock()
	defer g.mu.Unlock()

	g.collections = append(g.collections, a)
}

// Sign a version of a collection.
func (g *Galaxy) Sign(namespace, name, version, signature string) {
	g.mu.Lock()
	defer g.mu.Unlock()

	for _, a := range g.versions(namespace, name) {
		if a.Info.Version == version {
			a.signatures = append(a.signatures, map[string]string{"signature": signature})
		}
	}
}

// PublishRole at a version, with the URL of its archive.
func (g *Galaxy) PublishRole(owner, name, version, url string) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.roles = append(g.roles, role{owner: owner, name: name, version: version, url: url})
}

// Exchange refresh tokens for access tokens, at the path /token, as the single
// sign-on of an Automation Hub does.
func (g *Galaxy) Exchange(refresh, access string) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.refresh, g.access = refresh, access
}

// ServeHTTP answers one request of ansible-galaxy.
func (g *Galaxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()

	base, api, found := strings.Cut(r.URL.Path, "/v3/")
	if found {
		g.v3(w, r, base+"/v3", strings.Split(strings.Trim(api, "/"), "/"))

		return
	}

	if _, api, found = strings.Cut(r.URL.Path, "/v1/roles/"); found {
		g.v1(w, r, strings.Split(strings.Trim(api, "/"), "/"))

		return
	}

	if strings.HasSuffix(r.URL.Path, "/token") {
		g.token(w, r)

		return
	}

	versions := map[string]string{"v3": "v3/"}
	if len(g.roles) > 0 {
		versions["v1"] = "v1/"
	}

	respond(w, map[string]any{"available_versions": versions})
}

func (g *Galaxy) v3(w http.ResponseWriter, r *http.Request, base string, path []string) {
	switch {
	case len(path) == 4 && path[0] == "collections" && path[3] == "versions":
		g.list(w, r, path[1], path[2])

		return
	case len(path) == 3 && path[0] == "collections":
		if len(g.versions(path[1], path[2])) > 0 {
			respond(w, map[string]string{"updated_at": "2026-01-01T00:00:00Z"})

			return
		}
	case len(path) == 5 && path[0] == "collections":
		for _, a := range g.versions(path[1], path[2]) {
			if a.Info.Version == path[4] {
				respond(w, a.describe(base))

				return
			}
		}
	case len(path) == 3 && path[0] == "artifacts":
		for _, a := range g.collections {
			if a.file() == path[2] {
				_, _ = w.Write(a.data)

				return
			}
		}
	}

	refuse(w, http.StatusNotFound, "not_found", "Not found.")
}

// list the versions of a collection, a page of them.
func (g *Galaxy) list(w http.ResponseWriter, r *http.Request, namespace, name string) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	all := []map[string]string{}

	for _, a := range g.versions(namespace, name) {
		all = append(all, map[string]string{"version": a.Info.Version, "href": r.URL.Path + a.Info.Version + "/"})
	}

	// Few of them, so that there is a second page soon.
	limit = min(max(limit, 1), 2)
	end := min(offset+limit, len(all))

	var next any
	if end < len(all) {
		next = r.URL.Path + "?limit=" + strconv.Itoa(limit) + "&offset=" + strconv.Itoa(end)
	}

	respond(w, map[string]any{
		"meta":  map[string]int{"count": len(all)},
		"links": map[string]any{"next": next},
		"data":  all[min(offset, end):end],
	})
}

// versions of a collection that were published.
func (g *Galaxy) versions(namespace, name string) (all []*artifact) {
	for _, a := range g.collections {
		if a.Info.Namespace == namespace && a.Info.Name == name {
			all = append(all, a)
		}
	}

	return all
}

func (a *artifact) file() string {
	return a.Info.Namespace + "-" + a.Info.Name + "-" + a.Info.Version + ".tar.gz"
}

func (a *artifact) describe(base string) map[string]any {
	return map[string]any{
		"version":      a.Info.Version,
		"href":         base + "/collections/" + a.Info.Namespace + "/" + a.Info.Name + "/versions/" + a.Info.Version + "/",
		"namespace":    map[string]string{"name": a.Info.Namespace},
		"collection":   map[string]string{"name": a.Info.Name},
		"artifact":     map[string]any{"filename": a.file(), "sha256": a.sha256, "size": len(a.data)},
		"download_url": base + "/artifacts/collections/" + a.file(),
		"metadata":     map[string]any{"dependencies": a.Info.Dependencies},
		"signatures":   a.signatures,
	}
}

// v1 finds a role by its name, and its versions by its id, which is its name.
func (g *Galaxy) v1(w http.ResponseWriter, r *http.Request, path []string) {
	owner, name := r.URL.Query().Get("owner__username"), r.URL.Query().Get("name")
	results := []map[string]string{}

	if len(path) == 2 && path[1] == "versions" {
		owner, name, _ = strings.Cut(path[0], ".")
	}

	for _, o := range g.roles {
		if o.owner != owner || o.name != name {
			continue
		}

		if len(path) == 2 {
			results = append(results, map[string]string{"name": o.version, "download_url": o.url})
		} else if len(results) == 0 {
			results = append(results, map[string]string{"id": owner + "." + name, "name": name})
		}
	}

	respond(w, map[string]any{"results": results, "next_link": nil})
}

func (g *Galaxy) token(w http.ResponseWriter, r *http.Request) {
	if g.refresh == "" || r.FormValue("grant_type") != "refresh_token" || r.FormValue("refresh_token") != g.refresh {
		w.WriteHeader(http.StatusBadRequest)
		respond(w, map[string]string{"error": "invalid_grant"})

		return
	}

	respond(w, map[string]any{"access_token": g.access, "expires_in": 300, "token_type": "Bearer"})
}

func respond(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // A mistake in this file.
	}

	w.Header().Set("Content-Type", "application/json")

	_, _ = w.Write(text)
}

// refuse as Galaxy does. Git and others mind the code and the header only.
func refuse(w http.ResponseWriter, code int, name, detail string) {
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="content"`)
	}

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	respond(w, map[string]any{"errors": []map[string]string{{
		"status": strconv.Itoa(code), "code": name, "title": http.StatusText(code), "detail": detail,
	}}})
}

// manifest is what an archive says of itself.
func manifest(tb testing.TB, archive []byte) []byte {
	tb.Helper()

	z, err := gzip.NewReader(bytes.NewReader(archive))
	needs.OK(tb, err)

	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		needs.OK(tb, err)

		if h.Name == "MANIFEST.json" {
			text, err := io.ReadAll(t)
			needs.OK(tb, err)

			return text
		}
	}
}
