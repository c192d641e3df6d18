package console

import (
	"html"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"lockserver/docs"
)

// The words of the runbook about alarms: docs/RUNBOOK.md has a table of the kinds of alarms, which names the
// section for each.

// advice has the words of the runbook about a kind of alarm.
type advice struct {
	What string          // the fault, in a few words
	Text []template.HTML // paragraphs, and items of numbered lists
}

// adviceRow is a row of the runbook's table of alarms.
var adviceRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (.*) \\| \\[(\\w+)\\]\\(#.*\\|$")

// runbook returns the advice by kinds of alarms, and that for a shard without a leader as "shard-down".
var runbook = sync.OnceValue(func() map[string]advice {
	all := make(map[string]advice)
	for _, row := range adviceRow.FindAllStringSubmatch(docs.Runbook, -1) {
		all[row[1]] = advice{What: row[2], Text: runbookSection(row[3])}
	}
	all["shard-down"] = advice{What: "no server serves its slots", Text: runbookSection("A shard is down")}
	return all
})

// runbookSection returns the paragraphs below a heading of the runbook.
func runbookSection(heading string) (text []template.HTML) {
	_, rest, _ := strings.Cut(docs.Runbook, "# "+heading+"\n")
	part, _, _ := strings.Cut(rest, "\n#")
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			text = append(text, plainHTML(strings.Join(paragraph, " ")))
		}
		paragraph = nil
	}
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		if line == "" || isItem.MatchString(line) {
			end()
		}
		if line != "" {
			paragraph = append(paragraph, line)
		}
	}
	end()
	return text
}

var (
	isItem = regexp.MustCompile(`^\d+\. `)
	isCode = regexp.MustCompile("`([^`]*)`")
	isLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// plainHTML returns a paragraph of Markdown as HTML. Links become their texts, because the console serves no
// other page of the documentation.
func plainHTML(text string) template.HTML {
	text = isLink.ReplaceAllString(html.EscapeString(text), "$1")
	return template.HTML(isCode.ReplaceAllString(text, "<code>$1</code>"))
}
