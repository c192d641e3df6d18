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

// columns is the length of a line of text.
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

// paragraph writes a paragraph. After a heading no macro is needed.
func (r *roff) paragraph(words string) {
	if !r.headed {
		r.macro("PP")
	}
	r.text(words)
}

// text writes words in lines. The words may contain the markup of table cells: code in backquotes, and links.
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

// line writes a line of text, and escapes a beginning that roff would read as a macro.
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

// escape escapes the characters that roff would interpret. A hyphen stays a hyphen that can be copied.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}

var (
	isLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	isCode = regexp.MustCompile("`([^`]*)`")
)

// inline sets code in bold, and replaces a link by its text.
func inline(s string) string {
	return isCode.ReplaceAllString(isLink.ReplaceAllString(escape(s), "$1"), `\fB$1\fR`)
}

// plain returns the text without markup.
func plain(s string) string {
	return isCode.ReplaceAllString(isLink.ReplaceAllString(s, "$1"), "$1")
}
