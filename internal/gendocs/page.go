package main

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockserver/commands"
)

const preamble = `# Commands

Generated from the command table by ` + "`make docs`" + `; do not edit. COMMAND DOCS and the help of redis-cli tell the same.

To read a usage line:

| in the line | meaning |
|---|---|
| a word in capitals | typed as it is |
| another word | replaced by a value |
| brackets | may be left out |
| a bar | separates alternatives, in angle brackets where one is needed |
| dots | the part before them may be repeated |

"Since" is the version of Redis that brought the command. For the groups lock, sale, limit and delay, and for the commands TEST.*, it is the version of
lockserver. TEST.* is there in test mode only. SENTINEL is known where clients find the leader by Sentinels.
`

// nativeGroups come first: other servers do not have them.
var nativeGroups = []commands.Group{commands.Lock, commands.Sale, commands.Limit, commands.Delay}

// page returns the whole document.
func page(rows []*commands.Row) []byte {
	var b bytes.Buffer
	b.WriteString(preamble)
	groups := groupsOf(rows)
	b.WriteString("\n| group | commands |\n|---|---|\n")
	for _, g := range groups {
		var names []string
		for _, r := range rows {
			if r.Group == g {
				names = append(names, fmt.Sprintf("[%s](#%s)", shown(r), anchor(shown(r))))
			}
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", g, anchor(title(g)), strings.Join(names, ", "))
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", title(g))
		for _, r := range rows {
			if r.Group == g {
				writeCommand(&b, r)
			}
		}
	}
	return b.Bytes()
}

// groupsOf lists the groups of rows, the native ones first.
func groupsOf(rows []*commands.Row) []commands.Group {
	var groups []commands.Group
	for _, r := range rows {
		if !slices.Contains(groups, r.Group) {
			groups = append(groups, r.Group)
		}
	}
	slices.SortFunc(groups, func(x, y commands.Group) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.String(), y.String()))
	})
	return groups
}

func rank(g commands.Group) int {
	if i := slices.Index(nativeGroups, g); i >= 0 {
		return i
	}
	return len(nativeGroups)
}

func title(g commands.Group) string { return "Group: " + g.String() }

// shown returns a command's name as people type it.
func shown(r *commands.Row) string {
	return strings.ToUpper(strings.ReplaceAll(r.FullName(), "|", " "))
}

// anchor returns the name that GitHub gives a heading: small letters, no punctuation, hyphens for spaces.
func anchor(heading string) string {
	return strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

var punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func writeCommand(b *bytes.Buffer, r *commands.Row) {
	fmt.Fprintf(b, "\n### %s\n\n", shown(r))
	if len(r.Subcommands()) == 0 || r.Run != nil {
		fmt.Fprintf(b, "    %s\n\n", usage(r))
	}
	writeFacts(b, r)
	for _, sub := range r.Subcommands() {
		fmt.Fprintf(b, "\n#### %s\n\n    %s\n\n", shown(sub), usage(sub))
		writeFacts(b, sub)
	}
}

func writeFacts(b *bytes.Buffer, r *commands.Row) {
	fmt.Fprintf(b, "%s\n", r.Summary)
	if r.Deprecated != "" {
		fmt.Fprintf(b, "Deprecated since %s", r.Deprecated)
		if r.ReplacedBy != "" {
			fmt.Fprintf(b, ": use %s", r.ReplacedBy)
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(b, "\nComplexity: %s. Since: %s.", strings.TrimSuffix(r.Complexity, "."), r.Since)
	if flags := r.Flags.Names(); len(flags) > 0 {
		fmt.Fprintf(b, " Flags: %s.", strings.Join(flags, ", "))
	}
	b.WriteString("\n")
}
