package clip

import "testing"

func TestText(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      string
		n      int
		want   string
	}{
		"Short":     {reason: "What fits stays.", s: "abc", n: 3, want: "abc"},
		"Long":      {reason: "What does not fit is cut, and shows that it is.", s: "abcdef", n: 5, want: "ab…"},
		"Character": {reason: "No character is broken.", s: "aäöüß", n: 7, want: "aä…"},
		"Nothing":   {reason: "Where there is no room, it still shows that there was something.", s: "abc", n: 0, want: "…"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Text(tc.s, tc.n); got != tc.want {
				t.Errorf("\n%s\nText(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
