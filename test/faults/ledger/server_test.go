package ledger

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A still director injects no faults.
type still struct{ left []string }

func (still) Play(context.Context, Run) bool { return false }
func (s still) Left(...string) []string      { return s.left }

// TestServer talks to a server as plays do.
func TestServer(t *testing.T) {
	cases := map[string]struct {
		reason string
		left   []string
		say    string
		want   Outcome
		breach string
	}{
		"Done":   {reason: "A play that says so has done its work.", say: "done\n", want: Done},
		"Failed": {reason: "A play that says so has failed.", say: "failed\n", want: Failed},
		"Lost":   {reason: "A play that hangs up is lost.", want: Lost},
		"Left": {
			reason: "Processes of an earlier run are an overlap, too.", left: []string{"7 sleep"}, say: "done\n", want: Done,
			breach: "run id began while there were processes of earlier ones: 7 sleep",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := NewBook(io.Discard)

			s, err := Serve(t.Context(), "127.0.0.1", b, still{left: tc.left})
			if err != nil {
				t.Fatal(err)
			}

			defer s.Stop()

			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Address())
			if err != nil {
				t.Fatal(err)
			}

			fmt.Fprintln(c, "begin uid id Apply present 1 v 42 /runs/x/home")

			in := bufio.NewReader(c)
			if got, err := in.ReadString('\n'); err != nil || got != "go differs\n" {
				t.Fatalf("\n%s\nthe server said %q, %v", tc.reason, got, err)
			}

			if tc.say != "" {
				fmt.Fprint(c, tc.say)

				_, _ = in.ReadString('\n')
			}

			_ = c.Close()

			for range 1000 {
				if b.Run("id").Outcome != Working {
					break
				}

				time.Sleep(5 * time.Millisecond)
			}

			if diff := cmp.Diff(tc.want, b.Run("id").Outcome); diff != "" {
				t.Errorf("\n%s\noutcome: -want, +got:\n%s", tc.reason, diff)
			}

			var breach string
			for _, br := range b.Breaches() {
				breach += br.Text
			}

			if diff := cmp.Diff(tc.breach, breach); diff != "" {
				t.Errorf("\n%s\nbreach: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
