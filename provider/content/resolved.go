package content

import (
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
)

// maxResolved is how many resolutions a store remembers. A request has the resolution from the
// status of its object, for a store that does not remember it.
const maxResolved = 1000

// remember what a request resolved to. The store is locked.
func (s *Store) remember(req Request, set Set) Set {
	wanted := req.wanted(s.config.Key)
	set.Digest = set.digest(s.config.Key, wanted)
	set.Resolved = set.Resolved.Truncate(time.Second)
	s.resolved.Add(wanted, set)

	return set
}

// recall what a request resolved to last: the current set, or what is remembered of it, or
// else what the request knows, if its digest is right. The store is locked.
func (s *Store) recall(digest string, req Request) (Set, bool) {
	if e := s.current(digest); e != nil {
		return s.remember(req, e.set()), true
	}

	wanted := req.wanted(s.config.Key)
	if set, ok := s.resolved.Get(wanted); ok {
		return set.(Set), true //nolint:forcetypeassert // There is nothing else.
	}

	k := req.Known
	if k.Digest != k.digest(s.config.Key, wanted) {
		return Set{}, false
	}

	k.Resolved = s.past(k.Resolved)

	return s.remember(req, k), true
}

// pinnedToKnown returns a request for the versions that the request resolved to before, and when that was, until it is
// due to be resolved again. Then it returns the request as it is, and the present time.
func (s *Store) pinnedToKnown(digest string, req Request) (given galaxy.Request, resolved time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	known, ok := s.recall(digest, req)
	if due, moves := s.dueAt(req, failures{}, known); !ok || moves && !s.config.now().Before(due) {
		return req.Request, s.config.now()
	}

	req.Requirements = req.Requirements.Pin(known.Collections, known.Roles, known.Project)
	req.Repeated = true

	return req.Request, known.Resolved
}

// dueAt is when a request is to be resolved again; false when never. The store is locked.
func (s *Store) dueAt(req Request, f failures, known Set) (time.Time, bool) {
	if s.config.TTL == 0 || req.Requirements.Pinned() {
		return time.Time{}, false
	}

	return f.due(known.Resolved, s.config.TTL), true
}

// digest returns an HMAC of the versions of a set and of the request that has resolved to them, see wanted.
func (s Set) digest(key []byte, wanted string) string {
	return sign(key, "resolved", struct {
		Wanted             string
		Collections, Roles []common.ContentItem
		Project            *common.ContentItem `json:",omitempty"`
	}{wanted, s.Collections, s.Roles, s.Project})
}

// sign returns a keyed sum, cut to 128 bits, in hexadecimal.
func sign(key []byte, purpose string, v any) string {
	text, _ := json.Marshal(v) //nolint:errchkjson // It has nothing that cannot be encoded.

	return hex.EncodeToString(mac.Sum(key, purpose, text)[:16])
}
