package controller

import (
	"errors"
	"testing"
)

func TestStartedCheck(t *testing.T) {
	closed := make(chan struct{})
	close(closed)

	cases := map[string]struct {
		reason  string
		elected chan struct{}
		results []error
		ready   bool
	}{
		"StandsBy":    {reason: "A replica that is not the leader should be ready, or a rollout would wait for ever.", elected: make(chan struct{}), ready: true},
		"NoneStarted": {reason: "A provider that reconciles nothing should not be ready.", elected: closed},
		"Started":     {reason: "One started controller should be enough.", elected: closed, results: []error{nil}, ready: true},
		"OneFailed":   {reason: "A controller that cannot start should be an error.", elected: closed, results: []error{nil, errors.New("no")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &started{elected: tc.elected}
			for _, err := range tc.results {
				s.add(err)
			}

			if err := s.check(nil); (err == nil) != tc.ready {
				t.Errorf("\n%s\ncheck(): want ready %t, got %v", tc.reason, tc.ready, err)
			}
		})
	}
}
