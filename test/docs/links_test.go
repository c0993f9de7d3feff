// Package docs tests that the documentation is complete.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestLinks follows every link between files of the repository: the file must exist,
// and the heading, too.
func TestLinks(t *testing.T) {
	root := os.DirFS("../..")

	pages, err := fs.Glob(root, "*.md")
	needs.OK(t, err)

	for _, pattern := range []string{"docs/*.md", "docs/api/*.md", "examples/*.md", ".github/*.md"} {
		more, err := fs.Glob(root, pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("there are no pages %s: %v", pattern, err)
		}

		pages = append(pages, more...)
	}

	links := 0

	for _, page := range pages {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href|srcset)="([^"]+)"`).FindAllStringSubmatch(prose(t, root, page), -1) {
			link := m[1] + m[2]
			if strings.Contains(link, "://") {
				continue
			}

			links++

			file, heading, _ := strings.Cut(link, "#")
			if file == "" {
				file = page
			} else {
				file = filepath.Join(filepath.Dir(page), file)
			}

			if _, err := fs.Stat(root, file); err != nil {
				t.Errorf("%s links to %s: %v", page, link, err)
				continue
			}

			if heading != "" && !slices.Contains(headings(prose(t, root, file)), heading) {
				t.Errorf("%s links to %s, which has no such heading.", page, link)
			}
		}
	}

	if links == 0 {
		t.Error("There should be links.")
	}
}

// prose of a page: all but its blocks of code.
func prose(t *testing.T, root fs.FS, page string) string {
	t.Helper()

	text, err := fs.ReadFile(root, page)
	needs.OK(t, err)

	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(string(text), "")
}

// headings of a page, as GitHub names them in links.
// Source: https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#section-links
func headings(text string) []string {
	var names []string

	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}

	return names
}
