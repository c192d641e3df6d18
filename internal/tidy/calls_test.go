package tidy

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callsOf says whether the sources of one package have a call by its name in docs/CLIENTS.md, such as
// "Locks.acquire".
type callsOf func(name string) bool

// TestCallsByLanguage: each call that docs/CLIENTS.md names is in the sources of the package, and each that
// it marks as not there yet is not.
func TestCallsByLanguage(t *testing.T) {
	page, err := os.ReadFile("../../docs/CLIENTS.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "| to | Go | Java | Node | Python |\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	languages := []struct {
		name string
		has  callsOf
	}{
		{"Go", goCalls(textUnder(t, "../../client", ".go"))},
		{"Java", javaCalls(textUnder(t, "../../clients/java", ".java"))},
		{"Node", nodeCalls(textUnder(t, "../../clients/node/src", ".ts"))},
		{"Python", pythonCalls(textUnder(t, "../../clients/python/src", ".py"))},
	}
	code := regexp.MustCompile("`([^`]+)`")
	seen := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if strings.HasPrefix(cells[0], "---") {
			continue
		}
		require.Len(t, cells, len(languages)+1, line)
		for i, language := range languages {
			cell := strings.TrimSpace(cells[i+1])
			missing := strings.HasPrefix(cell, "not yet: ")
			for _, name := range code.FindAllStringSubmatch(cell, -1) {
				assert.Equal(t, !missing, language.has(name[1]), "%s in %s", name[1], language.name)
				seen++
			}
		}
	}
	require.Greater(t, seen, 100)
}

// has reports whether a text has what a pattern says, with the names in it quoted.
func has(text, pattern string, names ...string) bool {
	for _, name := range names {
		pattern = strings.Replace(pattern, "%", regexp.QuoteMeta(name), 1)
	}
	return regexp.MustCompile(pattern).MatchString(text)
}

func goCalls(text string) callsOf {
	return func(name string) bool {
		of, method, ok := strings.Cut(name, ".")
		if !ok {
			return has(text, `(?m)^func %\(`, name)
		}
		return has(text, `(?m)^func \(\w+ \*?%\) %\(`, of, method)
	}
}

func javaCalls(text string) callsOf {
	return func(name string) bool {
		if annotation, ok := strings.CutPrefix(name, "@"); ok {
			return has(text, `(?m)^public @interface %\b`, annotation)
		}
		of, method, _ := strings.Cut(name, ".")
		body := block(text, `(?m)^public (?:abstract |sealed |final )*(?:class|record|interface) %\b`, of, "\n}")
		return has(body, `\n    (?:public |default )?(?:static )?[\w<>?, .\[\]]+ %\(`, method)
	}
}

func nodeCalls(text string) callsOf {
	return func(name string) bool {
		of, method, _ := strings.Cut(name, ".")
		body := block(text, `(?m)^export (?:class|interface) %\b`, of, "\n}")
		return has(body, `\n  (?:async |get |readonly )*%[(<:?]`, method)
	}
}

func pythonCalls(text string) callsOf {
	return func(name string) bool {
		of, method, ok := strings.Cut(name, ".")
		if !ok {
			return has(text, `(?m)^def %\(`, name)
		}
		threads, tasks := pythonClass(text, of), pythonClass(text, "Async"+of)
		return has(threads, `\n    def %\(`, method) && has(tasks, `\n    (?:async )?def %\(`, method)
	}
}

// pythonClass returns the text of a class and of the class that it extends.
func pythonClass(text, name string) string {
	body := block(text, `(?m)^class %\b`, name, "\nclass ")
	if base := regexp.MustCompile(`^\((\w+)\):`).FindStringSubmatch(body); base != nil {
		body += block(text, `(?m)^class %\b`, base[1], "\nclass ")
	}
	return body
}

// block returns the text from what begins with a pattern to an end, or nothing.
func block(text, pattern, name, end string) string {
	at := regexp.MustCompile(strings.Replace(pattern, "%", regexp.QuoteMeta(name), 1)).FindStringIndex(text)
	if at == nil {
		return ""
	}
	body, _, _ := strings.Cut(text[at[1]:], end)
	return body
}
