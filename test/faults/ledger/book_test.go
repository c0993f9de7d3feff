package ledger

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBook checks that a book finds breaches: a ledger without breaches proves nothing otherwise.
func TestBook(t *testing.T) {
	apply := func(id, state string) Run { return Run{UID: "a", ID: id, Mode: ModeApply, State: state, Value: "v"} }
	play := func(b *Book, r Run, how Outcome) { b.Begin(r); b.End(r.ID, how) }

	cases := map[string]struct {
		reason string
		do     func(b *Book)
		want   []string
		target string
	}{
		"Applied": {
			reason: "A run that is done changes the target.",
			do:     func(b *Book) { play(b, apply("1", StatePresent), Done) },
			target: "v",
		},
		"Lost": {
			reason: "A lost run leaves the target half done.",
			do: func(b *Book) {
				play(b, apply("1", StatePresent), Done)
				play(b, apply("2", StatePresent), Lost)
			},
			target: Half,
		},
		"Checked": {
			reason: "A check changes nothing.",
			do:     func(b *Book) { play(b, Run{UID: "a", ID: "1", Mode: ModeCheck, State: StatePresent, Value: "v"}, Done) },
		},
		"Overlap": {
			reason: "A run that begins during another run of its object is a breach.",
			do: func(b *Book) {
				b.Begin(apply("1", StatePresent))
				b.Begin(Run{UID: "a", ID: "2", Mode: ModeCheck, State: StatePresent})
			},
			want:   []string{"run 2 began while run 1 was in progress"},
			target: Half,
		},
		"Doubled": {
			reason: "A run that begins again is a breach.",
			do: func(b *Book) {
				play(b, apply("1", StatePresent), Done)
				b.Begin(apply("1", StatePresent))
			},
			want:   []string{"run 1 began again"},
			target: Half,
		},
		"Struck": {
			reason: "A run whose Pod was hit may begin again.",
			do: func(b *Book) {
				b.Begin(apply("1", StatePresent))
				b.Strike(apply("1", StatePresent), "Pod deleted")
				b.End("1", Lost)
				b.Begin(apply("1", StatePresent))
			},
			target: Half,
		},
		"OthersOverlap": {
			reason: "Runs of different objects may overlap.",
			do: func(b *Book) {
				b.Begin(apply("1", StatePresent))
				b.Begin(Run{UID: "b", ID: "2", Mode: ModeApply, State: StatePresent})
			},
			target: Half,
		},
		"Removed": {
			reason: "An object may go after a successful absent run.",
			do: func(b *Book) {
				play(b, apply("1", StatePresent), Done)
				play(b, apply("2", StateAbsent), Done)
				b.Gone("a")
			},
		},
		"NeverApplied": {
			reason: "An object that was never applied may go at once.",
			do:     func(b *Book) { b.Gone("a") },
		},
		"NotRemoved": {
			reason: "The end of an object without an absent run is a breach.",
			do: func(b *Book) {
				play(b, apply("1", StatePresent), Failed)
				b.Gone("a")
			},
			want:   []string{`the last run before the object was gone is 1, state present, outcome "failed"`},
			target: Half,
		},
		"RemovalFailed": {
			reason: "The end of an object after a failed absent run is a breach.",
			do: func(b *Book) {
				play(b, apply("1", StateAbsent), Failed)
				b.Gone("a")
			},
			want:   []string{`the last run before the object was gone is 1, state absent, outcome "failed"`},
			target: Half,
		},
		"AfterTheEnd": {
			reason: "A run of an object that is gone is a breach.",
			do: func(b *Book) {
				b.Gone("a")
				b.Begin(apply("1", StateAbsent))
			},
			want:   []string{"run 1 began"},
			target: Half,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := NewBook(io.Discard)
			tc.do(b)

			var got []string
			for _, br := range b.Breaches() {
				got = append(got, br.Text)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nBreaches(): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.target, b.Object("a").Target); diff != "" {
				t.Errorf("\n%s\nTarget of Object(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
