package content

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
)

// maxResolved is how many things that were resolved a store remembers. Those who
// need what it has forgotten remind it.
const maxResolved = 1000

// remember what a request resolved to. The store is locked.
func (s *Store) remember(req Request, set Set) Set {
	wanted := req.wanted(s.key)
	set.Resolved = set.Resolved.Truncate(time.Second)
	set.Proof = set.proof(s.key, wanted)
	s.resolved.Add(wanted, set)

	return set
}

// recall what a request resolved to last: what serves, or what was known when that
// was removed, or else what the one who requests it knows, if it is proved. The store
// is locked.
func (s *Store) recall(digest string, req Request) (Set, bool) {
	if e := s.current(digest); e != nil {
		set := e.set()
		set.Resolved = e.resolved

		return s.remember(req, set), true
	}

	wanted := req.wanted(s.key)
	if set, ok := s.resolved.Get(wanted); ok {
		return set.(Set), true //nolint:forcetypeassert // There is nothing else.
	}

	k := req.Known
	if k.Proof == "" || !hmac.Equal([]byte(k.Proof), []byte(k.proof(s.key, wanted))) {
		return Set{}, false
	}

	k.Resolved = s.past(k.Resolved)

	return s.remember(req, k), true
}

// exactly what a request resolved to before is installed again, until it is due to be
// resolved anew. Known is what that was; the zero value when it is resolved now.
func (s *Store) exactly(digest string, req Request) (exact Request, known Set) {
	s.mu.Lock()
	defer s.mu.Unlock()

	known, ok := s.recall(digest, req)
	if due, moves := s.dueAt(req, history{resolved: known.Resolved}); !ok || moves && !s.now().Before(due) {
		return req, Set{}
	}

	req.Requirements = req.Requirements.Pin(known.Collections, known.Roles)
	req.exact = true

	return req, known
}

// historyOf a request that is known to have resolved to a set. The store is locked.
func (s *Store) historyOf(digest string, known Set) history {
	h := s.history(digest)
	if h.resolved.IsZero() {
		h.resolved = known.Resolved
	}

	return h
}

// dueAt is when a request is to be resolved again; false when never.
func (s *Store) dueAt(req Request, h history) (time.Time, bool) {
	if s.ttl == 0 || req.Requirements.Pinned() {
		return time.Time{}, false
	}

	return h.due(s.ttl), true
}

// wanted identifies what a user says of a request, whichever provider installs it: as
// long as that stays the same, so does what it resolves to. A credential that rotates
// is the same.
func (r Request) wanted(key []byte) string {
	files := make([]inputs.File, len(r.Credentials))

	for i, f := range r.Credentials {
		files[i] = inputs.File{Name: f.Name, Rotates: f.Rotates}
		if f.Rotates == "" {
			files[i].Data = f.Data
		}
	}

	return sign(key, "wanted", struct {
		Requirements requirements.File
		Env          map[string]string
		Files        []inputs.File
	}{r.Requirements, r.Env, files})
}

// proof that what is wanted has resolved to the set: nobody else may choose what others
// get.
func (s Set) proof(key []byte, wanted string) string {
	return sign(key, "resolved", struct {
		Wanted             string
		Collections, Roles []common.ContentItem
		Resolved           int64
	}{wanted, s.Collections, s.Roles, s.Resolved.Unix()})
}

// sign a value that can be encoded, for one purpose.
func sign(key []byte, purpose string, v any) string {
	text, _ := json.Marshal(v) //nolint:errchkjson // It has nothing that cannot be encoded.

	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose + "\x00"))
	h.Write(text)

	return hex.EncodeToString(h.Sum(nil)[:16])
}
