package clip

import "testing"

func TestText(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      string
		n      int
		want   string
	}{
		"Short":     {reason: "A short text is unchanged.", s: "abc", n: 3, want: "abc"},
		"Long":      {reason: "A long text is cut, and ends with an ellipsis.", s: "abcdef", n: 5, want: "ab…"},
		"Character": {reason: "A text is cut at the boundary of a character.", s: "aäöüß", n: 7, want: "aä…"},
		"Nothing":   {reason: "Without room, the text is the ellipsis.", s: "abc", n: 0, want: "…"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Text(tc.s, tc.n); got != tc.want {
				t.Errorf("\n%s\nText(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
