package tidy

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// indirect matches words that make a sentence hard to read for a programmer who learned English as a foreign
// language. They are refused in comments, names, texts and pages. docs/STYLE.md has the rules for language.
var indirect = regexp.MustCompile(`(?i)\b(whom|whose|of which|nobody|somebody|everybody|anybody|whoever|is none of|stands in)\b`)

// private matches words that this project once used for things that have a standard name.
var private = regexp.MustCompile(`(?i)\b(strangers?|condemn(s|ed|ing)?|circles?|kick(s|ed|ing)?|vouch(es|ed|ing)?|rooms?|notes?|noted|` +
	`settle[sd]?|settling|owe[sd]?|owing|patient|told)\b`)

// known holds the words that faulty has looked at, in lower case.
var known = map[string]bool{"which": true, "none": true, "stands": true}

// faulty reports whether a text may have what indirect or private match: it has a word that is in what they
// match. They take longer than all the rest, so they only get the texts with such a word.
func faulty(text string) bool {
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	for i := 0; i < len(text); i++ {
		begin := i
		for i < len(text) && letter(text[i]) {
			i++
		}
		if begin == i {
			continue
		}
		word := text[begin:i]
		bad, ok := known[word]
		if !ok {
			lower := strings.ToLower(word)
			bad = known[lower] || privatePart.MatchString(lower)
			known[word] = bad
		}
		if bad {
			return true
		}
	}
	return false
}

// TestFaulty: faulty leaves out nothing that indirect or private match.
func TestFaulty(t *testing.T) {
	for _, words := range []string{
		"whom", "whose", "of which", "nobody", "somebody", "everybody", "anybody", "whoever", "is none of", "stands in",
		"stranger", "strangers", "condemn", "condemns", "condemned", "condemning", "circle", "circles", "kick", "kicks", "kicked", "kicking",
		"vouch", "vouches", "vouched", "vouching", "room", "rooms", "note", "notes", "noted", "settle", "settles", "settled", "settling",
		"owe", "owes", "owed", "owing", "patient", "told",
	} {
		for _, text := range []string{words, strings.ToUpper(words), "// It\tis " + words + ". Not", "é" + words + "-2"} {
			require.True(t, indirect.MatchString(text) || private.MatchString(text), text)
			require.True(t, faulty(text), text)
		}
	}
	require.False(t, faulty("A roomier lock, 1 of 2; notable"))
}

// maxSentence is the number of words that a sentence of a doc comment may have before it counts as long.
const maxSentence = 30

// docs returns the doc comments of a file.
func docs(file *ast.File) (list []*ast.CommentGroup) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.File:
			list = append(list, n.Doc)
		case *ast.FuncDecl:
			list = append(list, n.Doc)
		case *ast.GenDecl:
			list = append(list, n.Doc)
		case *ast.TypeSpec:
			list = append(list, n.Doc)
		case *ast.ValueSpec:
			list = append(list, n.Doc)
		case *ast.Field:
			list = append(list, n.Doc)
		}
		return true
	})
	return slices.DeleteFunc(list, func(g *ast.CommentGroup) bool { return g == nil })
}

// sentenceEnd matches the end of a sentence inside a paragraph.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]*\s+`)

// sentences returns the sentences of a doc comment. Preformatted lines are not sentences, and an item of a
// list begins a new one.
func sentences(doc string) (list []string) {
	var part strings.Builder
	flush := func() {
		for _, sentence := range sentenceEnd.Split(part.String(), -1) {
			if sentence != "" {
				list = append(list, sentence)
			}
		}
		part.Reset()
	}
	for line := range strings.Lines(doc) {
		text := strings.TrimSpace(line)
		preformatted := strings.HasPrefix(line, "\t")
		if text == "" || preformatted || strings.HasPrefix(text, "- ") {
			flush()
		}
		if text != "" && !preformatted {
			part.WriteString(text + " ")
		}
	}
	flush()
	return list
}

func TestSentences(t *testing.T) {
	require.Equal(t, []string{"One", "two or", "- three", "- four", "five"},
		sentences("One. two\nor.\n  - three.\n  - four.\n\n\tcode. more\nfive."))
}
