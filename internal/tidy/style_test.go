package tidy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule is a rule of docs/STYLE.md that a program can check.
type rule struct {
	name  string
	find  *regexp.Regexp // matches a sentence that breaks the rule
	write string         // the advice
	bad   string         // a comment that breaks the rule; docs/STYLE.md shows it, too
	good  string         // a comment that says the same without the fault
}

// style lists the rules for a sentence of a comment: its subject is a thing with its name, never a pronoun
// alone. A comment says what a thing is, in short sentences. The order is that of the numbers in most.
var style = []rule{
	{"definition by a pronoun", regexp.MustCompile(`\b(is|are|was|were) (what|who|whatever)\b`),
		"say what kind of thing it is: it holds, lists, counts, limits, returns",
		"quick is what Skips needs", "quick holds the fields that Skips needs"},
	{"pronoun as the subject", regexp.MustCompile(`(^|[.;:!?] )(Who|Whoever|What|Whatever|Those|That one|The ones?) [a-z]`),
		"begin with the name of the thing",
		"What comes during a sync is served by the next one", "All units that arrive during a sync are covered by the next sync"},
	{"one with a clause", regexp.MustCompile(`\b[Oo]nes? (that|who|which)\b|\b(those|all) who\b`),
		"repeat the noun",
		"One that the history does not know began when the event says", "If the history does not know the wait, the event says when the wait began"},
	{"none alone", regexp.MustCompile(`\b(is|are|has|have|had) none\b`),
		"name the thing that is missing",
		"of a semaphore; 0: it is none", "of a semaphore; 0: the value is not a semaphore"},
	{"clause without its noun", regexp.MustCompile(`^(that|who|which|what) (?:[a-z]+s|[a-z]+ed|is|are|was|has|had|have|it|they|the|a)\b`),
		"put the noun before its clause",
		"that ended it", "the event that ended the wait"},
	{"number without its source", regexp.MustCompile(`\bso many\b`),
		"name the number: n bytes, a number of bytes, as many bytes as the header says",
		"how long it takes until so many units come back", "the time until the given units come back"},
	{"words", regexp.MustCompile(indirect.String() + "|" + private.String()),
		"use the term that other servers and papers use",
		"a holder whose lease ends", "a holder with a lease that ends"},
}

// long is the name of the rule about long sentences in doc comments: see maxSentence.
const long = "sentence of more than 30 words"

// most holds, for each part of the tree, how often its comments may break each rule of style, and the rule
// long. The numbers may only fall: lower them with the commit that mends comments.
var most = map[string][]int{
	"admin":          {0, 0, 4, 1, 0, 0, 0, 0},
	"client":         {0, 1, 1, 5, 3, 1, 0, 0},
	"cmd":            {1, 0, 1, 9, 6, 1, 0, 0},
	"commands":       {0, 0, 0, 9, 2, 1, 0, 0},
	"examples":       {0, 0, 1, 0, 0, 0, 0, 0},
	"docs":           {0, 0, 0, 0, 0, 0, 0, 0},
	"internal":       {1, 3, 0, 3, 2, 2, 0, 0},
	"lockservertest": {2, 2, 0, 0, 1, 0, 0, 0},
	"packaging":      {0, 0, 0, 0, 0, 0, 0, 0},
	"persistence":    {0, 1, 0, 7, 0, 0, 0, 0},
	"server":         {5, 9, 7, 4, 18, 2, 0, 0},
	"server/*":       {0, 0, 0, 1, 6, 0, 0, 0},
	"server/raft":    {6, 8, 3, 15, 9, 2, 0, 0},
	"store":          {0, 4, 3, 6, 1, 4, 0, 0},
	"tests":          {8, 10, 29, 14, 22, 4, 0, 8},
}

// part returns the part of the tree that a file belongs to in most.
func part(path string) string {
	words := strings.Split(path, "/")
	switch {
	case words[0] != "server":
		return words[0]
	case len(words) == 2:
		return "server"
	case words[1] == "raft":
		return "server/raft"
	}
	return "server/*"
}

// paragraphs returns the paragraphs of a comment without headings, preformatted lines and quoted text.
func paragraphs(comment string) (list []string) {
	var open []string
	end := func() {
		if len(open) > 0 {
			list, open = append(list, quotation.ReplaceAllString(strings.Join(open, " "), "X")), nil
		}
	}
	for line := range strings.Lines(comment) {
		text := strings.TrimSpace(line)
		if item := strings.HasPrefix(text, "- "); text == "" || item || line[0] == '\t' || line[0] == '#' {
			end()
			if !item {
				continue
			}
		}
		open = append(open, text)
	}
	end()
	return list
}

// quotation matches text that a comment quotes.
var quotation = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")

// breaches returns the sentences of a file that break a rule, by the rule's index in most.
func breaches(s *source) (found [][]string) {
	found = make([][]string, len(style)+1)
	geometry := strings.Contains(s.path, "geo")
	for _, group := range s.file.Comments {
		at := s.fset.Position(group.Pos()).Line
		for _, text := range paragraphs(group.Text()) {
			for i, r := range style {
				if i == len(style)-1 && !faulty(text) { // the search for words takes longer than all the rest
					break
				}
				for _, span := range r.find.FindAllStringIndex(text, -1) {
					if geometry && shape.MatchString(text[span[0]:span[1]]) {
						continue
					}
					from, to := max(0, span[0]-30), min(len(text), span[1]+50)
					found[i] = append(found[i], fmt.Sprintf("%s:%d: ...%s...", s.path, at, strings.ToValidUTF8(text[from:to], "")))
				}
			}
		}
	}
	for _, doc := range docs(s.file) {
		for _, sentence := range sentences(doc.Text()) {
			if len(strings.Fields(sentence)) > maxSentence {
				found[len(style)] = append(found[len(style)], fmt.Sprintf("%s:%d: %s", s.path, s.fset.Position(doc.Pos()).Line, sentence))
			}
		}
	}
	return found
}

// shape matches the word that is allowed in geometry alone.
var shape = regexp.MustCompile(`\bcircles?\b`)

// TestStyle counts the sentences in comments that break a rule of docs/STYLE.md. No part of the tree may have
// more of them than most says.
func TestStyle(t *testing.T) {
	counted := make(map[string][][]string)
	for _, s := range sources(t) {
		name := part(s.path)
		if counted[name] == nil {
			counted[name] = make([][]string, len(style)+1)
		}
		for i, found := range breaches(s) {
			counted[name][i] = append(counted[name][i], found...)
		}
	}
	for name, got := range counted {
		limits := most[name]
		require.Lenf(t, limits, len(style)+1, "most has no numbers for %s", name)
		numbers := make([]string, len(got))
		for i, found := range got {
			numbers[i] = fmt.Sprint(len(found))
			if len(found) > limits[i] {
				title, advice := long, "make two sentences of it"
				if i < len(style) {
					title, advice = style[i].name, style[i].write
				}
				t.Errorf("%s: %s: %d comments break this rule of docs/STYLE.md, and %d may (%s). All of them:\n%s",
					name, title, len(found), limits[i], advice, strings.Join(found, "\n"))
			}
		}
		if line := strings.Join(numbers, ", "); line != strings.Trim(strings.ReplaceAll(fmt.Sprint(limits), " ", ", "), "[]") {
			t.Logf("now\n\t%q: {%s},", name, line)
		}
	}
	for name := range most {
		require.Contains(t, counted, name)
	}
}

// TestStyleExamples: each rule finds its bad example, no rule finds a good example, and docs/STYLE.md has
// both.
func TestStyleExamples(t *testing.T) {
	text := page(t, "docs", "STYLE.md")
	for _, r := range style {
		require.Truef(t, r.find.MatchString(r.bad), "%s: %s", r.name, r.bad)
		require.Falsef(t, slices.ContainsFunc(style, func(o rule) bool { return o.find.MatchString(r.good) }), "%s: %s", r.name, r.good)
		require.Containsf(t, text, "`"+r.bad+"`", "docs/STYLE.md does not show the bad example of %q", r.name)
		require.Containsf(t, text, "`"+r.good+"`", "docs/STYLE.md does not show the good example of %q", r.name)
	}
	require.GreaterOrEqual(t, strings.Count(text, "\n| `"), 20)
}

func TestParagraphs(t *testing.T) {
	require.Equal(t, []string{"One. two", "- three X four", "- five", "six"},
		paragraphs("One.\ntwo\n\n\tcode\n# What is it\n  - three `is what`\n    four\n  - five\n\nsix\n"))
}
