package kubeapi

import (
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/transport"
)

const (
	// lifetime of a token, the shortest that the API server grants.
	lifetime = 10 * time.Minute
	// requestTimeout of a token.
	requestTimeout = 30 * time.Second
	// requestAgain is how long there is no token after one could not be had.
	requestAgain = 10 * time.Second
)

// A source of the tokens of one ServiceAccount. An account without a token may have many watches.
type source struct {
	request func() (authenticationv1.TokenRequestStatus, error)

	failure error
	again   time.Time
}

// newSource returns tokens, one after another: the next request renews one when four fifths of its life are over. One
// that cannot be renewed is used on.
func newSource(request func() (authenticationv1.TokenRequestStatus, error)) oauth2.TokenSource {
	return transport.NewCachedTokenSource(&source{request: request})
}

// Token of the account.
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
