package aof

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// shownNames limits the command names in the output.
const shownNames = 12

// WriteText writes the report for a person, in a few lines.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, m := range r.Manifests {
		fmt.Fprintf(&b, "%s: the manifest of a log\n", m)
	}
	for i := range r.Files {
		r.Files[i].text(&b)
	}
	for _, h := range r.History {
		fmt.Fprintf(&b, "%s: replaced, deleted at the next start\n", h)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Checked) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %d bytes\n", c.Path, c.Bytes)
	if s := c.Snapshot; s != nil {
		s.text(b)
	}
	if total := sum(c.Commands); total > 0 {
		fmt.Fprintf(b, "  %s in %s: %s\n", number(total, "command"), number(c.Units, "unit"), listed(c.Commands))
	}
	if c.TokenLimit > 0 {
		fmt.Fprintf(b, "  fencing tokens up to %d\n", c.TokenLimit)
	}
	if t := c.Torn; t != nil {
		fmt.Fprintf(b, "  torn at offset %d: %s; a start cuts off %s\n", t.Offset, t.Reason, number(t.Bytes, "byte"))
	}
	if c.Bytes == 0 {
		b.WriteString("  nothing\n")
	}
}

func (s *CheckedSnapshot) text(b *strings.Builder) {
	fmt.Fprintf(b, "  a snapshot of RDB version %d", s.Version)
	for _, a := range s.Aux {
		if a.Name == "redis-ver" {
			fmt.Fprintf(b, ", written by or for Redis %.40q", a.Value)
		}
	}
	total := sum(s.Keys)
	fmt.Fprintf(b, ": %s in %s, %d with a deadline", number(total, "key"), number(int64(s.Databases), "database"), s.Timed)
	if total > 0 {
		fmt.Fprintf(b, ": %s", listed(s.Keys))
	}
	if s.Functions > 0 {
		fmt.Fprintf(b, "; %d function libraries", s.Functions)
	}
	b.WriteByte('\n')
	for _, w := range s.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", w)
	}
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// number formats a count with its noun: "1 key", "2 keys".
func number(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// listed formats counts, the largest first.
func listed(counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == shownNames && len(names) > shownNames+1 {
			parts = append(parts, fmt.Sprintf("and %d more names", len(names)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], printable(name)))
	}
	return strings.Join(parts, ", ")
}

// printable returns a name in a form that every terminal can show.
func printable(name string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, name)
}
