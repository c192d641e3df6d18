package main

import (
	"fmt"
	"strings"

	"lockserver/admin"
)

// metrics returns the table of docs/METRICS.md, with our own metrics first.
func metrics(all []admin.Description) string {
	var b strings.Builder
	for _, prefix := range []string{"lockserver_", "redis_"} {
		fmt.Fprintf(&b, "### %s*\n\n| metric | type | labels | what |\n|---|---|---|---|\n", prefix)
		for _, d := range all {
			if strings.HasPrefix(d.Name, prefix) {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(d.Labels, ", "), d.Help)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
