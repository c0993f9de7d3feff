package play

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

var update = flag.Bool("update", false, "Write the golden files.")

// TestGolden shows the output of real plays in colors. The golden files are made with go test ./provider/play -update.
func TestGolden(t *testing.T) {
	for _, name := range []string{"check", "details", "failures", "nohosts", "rescued", "syntax"} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer

			w := NewWriter(&b, Style{Color: true, Width: 60, Most: 200})
			rec := events.NewRecorder(events.Options{
				Secrets: redact.New(redact.InFile("hunter22", redact.Source{})),
				Watch: events.Watch{Display: func(text string) {
					if err := w.Show(text); err != nil {
						t.Error(err)
					}
				}},
			})

			f, err := os.Open(filepath.Join("..", "events", "testdata", name+".jsonl"))
			needs.OK(t, err)
			defer f.Close()

			for s := bufio.NewReader(f); ; {
				line, err := s.ReadBytes('\n')
				_, _ = rec.Stdout().Write(line)

				if err != nil {
					break
				}
			}

			rec.Close()

			got := strings.ReplaceAll(b.String(), "\x1b", "␛")
			golden := filepath.Join("testdata", name+".txt")

			if *update {
				needs.OK(t, os.WriteFile(golden, []byte(got), 0o600))
			}

			want, err := os.ReadFile(filepath.Clean(golden))
			needs.OK(t, err)

			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestShow shows lines that are not in the golden files.
func TestShow(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		style  Style
		text   string
		want   string
	}{
		"Plain": {
			reason: "Without colors and a width the text is unchanged.",
			text:   "\nPLAY [all] *****\nok: [a]\n\tfriend of café\n",
			want:   "\nPLAY [all] *****\nok: [a]\n\tfriend of café\n",
		},
		"Hostile": {
			reason: "Text cannot move the cursor, set the title of a window, hide itself, or change its direction.",
			style:  Style{Color: true},
			text:   "ok: [a\x1b]0;title\x07] \x1b[2J \u009b31m \u202egnp.exe \x00\xff\r",
			want:   "\x1b[32mok: [a\\u001b]0;title\\u0007] \\u001b[2J \\u009b31m \\u202egnp.exe \\u0000\ufffd\x1b[0m\n",
		},
		"Narrow": {
			reason: "Stars are cut to the width. Names are not.",
			style:  Style{Width: 12},
			text:   "PLAY [x] ****************\nTASK [a long name of a task] *****",
			want:   "PLAY [x] ***\nTASK [a long name of a task] ***\n",
		},
		"Huge": {
			reason: "A very long line is cut.",
			style:  Style{Most: 12},
			text:   `ok: [a] => {"x": "` + strings.Repeat("é", 1000) + `"}`,
			want:   "ok: [a] => {… (1008 more characters)\n",
		},
		"Prefix": {
			reason: "Lines have the prefix of their run.",
			style:  Style{Prefix: "web | "},
			text:   "\nok: [a]",
			want:   "\nweb | ok: [a]\n",
		},
		"Diff": {
			reason: "A diff ends where the result of its task begins.",
			style:  Style{Color: true},
			text:   "--- before\n+++ after\n@@ -1 +1 @@\n-a\n+b\nchanged: [a]\n- no diff\n\n- no diff",
			want: "\x1b[1m--- before\x1b[0m\n\x1b[1m+++ after\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n" +
				"\x1b[33mchanged: [a]\x1b[0m\n\x1b[33m- no diff\x1b[0m\n\n- no diff\n",
		},
		"Failed": {
			reason: "All lines of a failure are red.",
			style:  Style{Color: true},
			text:   "[ERROR]: no\n\nOrigin: x\nfatal: [a]: FAILED! => {\n}\n...ignoring\nrest",
			want: "\x1b[31m[ERROR]: no\x1b[0m\n\n\x1b[31mOrigin: x\x1b[0m\n\x1b[31mfatal: [a]: FAILED! => {\x1b[0m\n\x1b[31m}\x1b[0m\n" +
				"\x1b[36m...ignoring\x1b[0m\n\x1b[36mrest\x1b[0m\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			needs.OK(t, NewWriter(&b, tc.style).Show(tc.text))

			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Errorf("\n%s\nShow(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
