package kubeapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

const (
	// lifetime of a token, the shortest that the API server grants.
	lifetime = 10 * time.Minute
	// requestTimeout of a token.
	requestTimeout = 30 * time.Second
	// renewAgain is how long a token is used on that could not be renewed, and how long there is none after a failure.
	renewAgain = 10 * time.Second
)

// tokens of one ServiceAccount, one after another. Each is renewed when four fifths of its life are
// over, by the next request that needs it.
type tokens struct {
	request func(context.Context) (authenticationv1.TokenRequestStatus, error)
	now     func() time.Time

	mu             sync.Mutex
	current        string
	failure        error
	renew, expires time.Time
}

// token that is valid now.
func (t *tokens) token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	now := t.now()
	if now.Before(t.renew) {
		return t.current, t.failure
	}

	s, err := t.request(ctx)

	switch t.failure = nil; {
	case err == nil:
		t.current, t.expires = s.Token, s.ExpirationTimestamp.Time
		t.renew = now.Add(t.expires.Sub(now) * 4 / 5)
	case now.Before(t.expires):
		t.renew = now.Add(renewAgain)
	case ctx.Err() != nil:
		return "", err
	default:
		t.current, t.failure, t.renew = "", err, now.Add(renewAgain)
	}

	return t.current, t.failure
}

// wrap a transport, so that requests have a token.
func (t *tokens) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		token, err := t.token(r.Context())
		if err != nil {
			return nil, err
		}

		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)

		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (fn roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }
