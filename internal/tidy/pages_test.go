package tidy

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxPageSentence is the number of words that a sentence of a page may have before it counts as long.
const maxPageSentence = 25

// plainness has the faults of one page: the words that indirect or private match, and the long sentences.
type plainness struct{ words, long int }

// pageFaults holds the number of faults of each page that has some. The numbers may only fall: a commit that
// removes faults also lowers the number.
var pageFaults = map[string]plainness{}

var (
	// codeSpan matches code in a line of a page. It counts as one word, and no word in it is a fault.
	codeSpan = regexp.MustCompile("`[^`]*`")
	// pageLink matches a link or an image; its first group is the text that a reader sees.
	pageLink = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	// enumeration matches a list of code or of links between commas, which counts as one word.
	enumeration = regexp.MustCompile("(`[^`]*`)(,? (and |or )?`[^`]*`)+|(\\[[^\\]]*\\]\\([^)]*\\))(, \\[[^\\]]*\\]\\([^)]*\\))+")
	// listItem matches the mark that begins an item of a list.
	listItem = regexp.MustCompile(`^([-*]|\d+\.) `)
)

// pageSentences returns the sentences of a page in Markdown, without code and headings. An item of a list and
// a cell of a table begin a new sentence; in a cell a semicolon ends one.
func pageSentences(text string) (list []string) {
	var paragraph strings.Builder
	flush := func() {
		for _, sentence := range sentenceEnd.Split(paragraph.String(), -1) {
			if sentence = strings.TrimSpace(sentence); sentence != "" {
				list = append(list, sentence)
			}
		}
		paragraph.Reset()
	}
	fenced := false
	for line := range strings.Lines(text) {
		indented := paragraph.Len() == 0 && strings.HasPrefix(line, "    ") && !listItem.MatchString(strings.TrimSpace(line))
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || indented || line == "" || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--") {
			flush()
			continue
		}
		line = enumeration.ReplaceAllString(strings.ReplaceAll(line, "**", ""), "LIST")
		line = pageLink.ReplaceAllString(codeSpan.ReplaceAllString(line, "CODE"), "$1")
		if cells, table := strings.CutPrefix(line, "|"); table {
			flush()
			for _, part := range strings.FieldsFunc(strings.ReplaceAll(cells, "; ", "|"), func(r rune) bool { return r == '|' }) {
				paragraph.WriteString(part)
				flush()
			}
			continue
		}
		if listItem.MatchString(line) {
			flush()
			line = listItem.ReplaceAllString(line, "")
		}
		paragraph.WriteString(line + " ")
	}
	flush()
	return list
}

// commonPhrase matches a phrase that is plain although it has a word that private matches.
var commonPhrase = regexp.MustCompile(`release notes|a circle, a box`)

// plainnessOf counts the faults of a page, and returns the sentences that have them.
func plainnessOf(text string) (p plainness, list []string) {
	for _, sentence := range pageSentences(text) {
		sentence = commonPhrase.ReplaceAllString(sentence, "PHRASE")
		words := 0
		if faulty(sentence) {
			words = len(indirect.FindAllString(sentence, -1)) + len(private.FindAllString(sentence, -1))
		}
		p.words += words
		long := len(strings.Fields(sentence)) > maxPageSentence
		if long {
			p.long++
		}
		if words > 0 || long {
			list = append(list, sentence)
		}
	}
	return p, list
}

func TestPageSentences(t *testing.T) {
	page := "# A heading\n\nOne [two](x.md#y). Three\nfour `a b. c`.\n\n- five\n- six\n  seven\n1. eight\n\n| a | b; c |\n|---|---|\n\n```sh\nno. code\n```\n\n    no code\n\nnine\n"
	require.Equal(t, []string{"One two", "Three four CODE", "five", "six seven", "eight", "a", "b", "c", "---", "---", "nine"}, pageSentences(page))
	got, faulty := plainnessOf("A lock " + strings.Repeat("and a word ", 8) + "`whom`.\n\nIt was told `nobody`. It was not.\n")
	require.Equal(t, plainness{words: 1, long: 1}, got)
	require.Len(t, faulty, 2)
}

// TestPagesArePlain compares the number of faults of each page with the table. A failure shows the line that
// the table should have, if the new number is lower. Pages in Chinese are left out, and so is
// docs/BENCHMARKS.md, which make bench writes.
func TestPagesArePlain(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		name = filepath.ToSlash(name)
		top := !strings.Contains(name, "/")
		if d.IsDir() {
			if name == "." || name == "docs" || name == "docs/decisions" {
				return nil
			}
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".md" || name == "docs/BENCHMARKS.md" || top && strings.Contains(name, "zh-CN") {
			return nil
		}
		seen++
		if got, faulty := plainnessOf(page(t, strings.Split(name, "/")...)); got != pageFaults[name] {
			t.Errorf("%s has other faults than the table says: now\n\t%q: {%d, %d},\nin\n%s", name, name, got.words, got.long, strings.Join(faulty, "\n"))
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, seen, 30)
	for name := range pageFaults {
		require.FileExists(t, filepath.Join(root, filepath.FromSlash(name)))
	}
}
