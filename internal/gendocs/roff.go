package main

import (
	"regexp"
	"strings"
)

// roff is the text of a manual page, in the language of man(7).
type roff struct {
	strings.Builder
	headed bool // the last line is a heading
}

// columns is how long a line of text gets.
const columns = 78

// macro writes a line that begins with a dot; the arguments are text.
func (r *roff) macro(name string, args ...string) {
	r.WriteString("." + name)
	for _, a := range args {
		r.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	r.WriteString("\n")
	r.headed = name == "SH" || name == "SS"
}

// paragraph writes one, which a heading has begun already.
func (r *roff) paragraph(words string) {
	if !r.headed {
		r.macro("PP")
	}
	r.text(words)
}

// text writes words in lines. They may hold what cells of tables do: code in backquotes, and links.
func (r *roff) text(words string) {
	line := ""
	for _, w := range strings.Fields(inline(words)) {
		if line != "" && len(line)+1+len(w) > columns {
			r.line(line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	r.line(line)
}

// line keeps a line of text from being taken for a macro.
func (r *roff) line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	if text != "" {
		r.WriteString(text + "\n")
		r.headed = false
	}
}

// item writes an entry of a list.
func (r *roff) item(tag, text string) {
	r.macro("TP")
	r.macro("B", tag)
	r.text(text)
}

// escape keeps what roff would understand from it; a hyphen stays one that can be copied.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}

var (
	isLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	isCode = regexp.MustCompile("`([^`]*)`")
)

// inline sets code in bold letters, and leaves of a link what it is called.
func inline(s string) string {
	return isCode.ReplaceAllString(isLink.ReplaceAllString(escape(s), "$1"), `\fB$1\fR`)
}

// plain is the text without marks.
func plain(s string) string {
	return isCode.ReplaceAllString(isLink.ReplaceAllString(s, "$1"), "$1")
}
