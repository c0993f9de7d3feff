package kubeapi

import (
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/transport"
)

const (
	// lifetime of a token: the shortest that the API server grants.
	lifetime       = 10 * time.Minute
	requestTimeout = 30 * time.Second
	// requestAgain is the time between a failed request of a token and the next one.
	requestAgain = 10 * time.Second
)

// A source requests the tokens of one ServiceAccount. It also keeps a failure for requestAgain, since many watches may
// ask for a token at once.
type source struct {
	request func() (authenticationv1.TokenRequestStatus, error)

	failure error
	again   time.Time
}

// newSource returns a cached source of tokens. A token is renewed after four fifths of its lifetime. If that fails, the
// token is used until it expires.
func newSource(request func() (authenticationv1.TokenRequestStatus, error)) oauth2.TokenSource {
	return transport.NewCachedTokenSource(&source{request: request})
}

// Token requests a token.
func (s *source) Token() (*oauth2.Token, error) {
	now := time.Now()
	if now.Before(s.again) {
		return nil, s.failure
	}

	t, err := s.request()
	if err != nil {
		s.failure, s.again = err, now.Add(requestAgain)
		return nil, err
	}

	return &oauth2.Token{AccessToken: t.Token, Expiry: now.Add(t.ExpirationTimestamp.Sub(now) * 4 / 5)}, nil
}
