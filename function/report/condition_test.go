package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/render"
)

func TestTruncate(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      string
		n      int
		want   string
	}{
		"Short":     {reason: "What fits stays.", s: "abc", n: 3, want: "abc"},
		"Long":      {reason: "What does not fit is cut, and shows that it is.", s: "abcdef", n: 5, want: "ab…"},
		"Character": {reason: "No character is broken.", s: "aäöüß", n: 7, want: "aä…"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := truncate(tc.s, tc.n); got != tc.want {
				t.Errorf("\n%s\ntruncate(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// However much fails, the condition stays small, and begins with what failed.
func TestReportLimits(t *testing.T) {
	result := render.Result{}

	for range 100 {
		result.Runs = append(result.Runs, render.Run{Name: "waits", Reason: render.DependencyNotReady, Messages: []string{"waiting for fails"}})
	}

	for range 100 {
		result.Runs = append(result.Runs, render.Run{Name: "fails", Reason: render.RunFailed, Messages: []string{strings.Repeat("ä", 512)}})
	}

	rsp := &fnv1.RunFunctionResponse{}
	if err := Report(rsp, nil, result); err != nil {
		t.Fatal(err)
	}

	message := rsp.GetConditions()[0].GetMessage()

	if len(message) > 4096 || !utf8.ValidString(message) {
		t.Errorf("want at most 4096 bytes of valid UTF-8, got %d", len(message))
	}

	if !strings.HasPrefix(message, "fails: ") {
		t.Errorf("want failures first, got %q", message[:20])
	}

	if event := rsp.GetResults()[0].GetMessage(); len(event) > 1024 {
		t.Errorf("want at most 1024 bytes for an event, got %d", len(event))
	}
}
