package main

import (
	"fmt"
	"slices"
	"strings"

	"lockserver/internal/config"
)

// directives returns the tables of docs/CONFIGURATION.md: one for each section, the directives without
// effect, and the refused directives.
func directives(r config.Reference) string {
	var b strings.Builder
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "### %s\n\n| directive | default | what it does |\n|---|---|---|\n", s.Title)
		for _, e := range s.Entries {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", directiveName(e), withRedis(e), e.Doc)
		}
		b.WriteString("\n")
	}
	b.WriteString("### Accepted, without effect\n\nThese tune something inside Redis. They are checked, shown and written as there, and change no other reply and no file. They are:\n")
	for line := range slices.Chunk(r.Accepted, 4) {
		b.WriteString("`" + strings.Join(line, "`, `") + "`,\n")
	}
	text := strings.TrimSuffix(b.String(), ",\n") + ".\n\n"
	return text + refusals(r.Refused)
}

// refusals returns the table of missing features.
func refusals(list []config.Refusal) string {
	var b strings.Builder
	b.WriteString("### Refused, unless the value says no\n\n| directive | reason |\n|---|---|\n")
	for _, r := range list {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(r.Names, "`, `"), r.Reason)
	}
	return b.String()
}

// directiveName returns the name, a star if CONFIG SET can change the directive, and the older names.
func directiveName(e config.Entry) string {
	text := "`" + e.Names[0] + "`"
	switch e.Changes {
	case "":
	case "CONFIG SET":
		text += " *"
	default:
		text += " (*)"
	}
	for _, alias := range e.Names[1:] {
		text += ", also `" + alias + "`"
	}
	return text
}

// withRedis returns the default, and the default of Redis if that differs.
func withRedis(e config.Entry) string {
	if e.Redis == "" {
		return e.Default
	}
	return e.Default + " (" + e.Redis + ")"
}
