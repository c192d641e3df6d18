package info

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
)

// Section is one part of INFO.
type Section struct {
	Name string // that of its headline, and the word by which it is asked for
	Also string // another such word; empty: none
	// Extra: it is only shown when asked for by name, or with "all" and "everything".
	Extra bool
	Write func(t *Text)
}

// Rows are the commands of this package. sectionsOf finds the sections, in the order in which they are shown,
// of the server that runs one.
func Rows(sectionsOf func(c *commands.Ctx) []Section) []commands.Row {
	return []commands.Row{{Name: "info", Group: commands.Server, Since: "1.0.0", Flags: commands.Loading | commands.Stale,
		Cats: commands.CatDangerous,
		Tips: []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
		Run: func(c *commands.Ctx) error {
			c.Out.Verbatim("txt", write(sectionsOf(c), c.Args().Rest()))
			return nil
		},
		Summary: "Tells about the server, in sections.", Complexity: "O(1)",
		Args: []commands.Arg{commands.Opt(commands.Str("section").Many())}}}
}

// All is what INFO EVERYTHING replies.
func All(sections []Section) string { return write(sections, [][]byte{[]byte("everything")}) }

// write writes the sections that words ask for.
func write(sections []Section, asked [][]byte) string {
	var t Text
	for _, s := range sections {
		if !s.wanted(asked) {
			continue
		}
		if t.b.Len() > 0 {
			t.b.WriteString("\r\n")
		}
		t.b.WriteString("# " + s.Name + "\r\n")
		s.Write(&t)
	}
	return t.String()
}

func (s *Section) wanted(asked [][]byte) bool {
	if len(asked) == 0 {
		return !s.Extra
	}
	for _, word := range asked {
		switch {
		case ascii.EqualFold(word, "all"), ascii.EqualFold(word, "everything"):
			return true
		case ascii.EqualFold(word, s.Name), s.Also != "" && ascii.EqualFold(word, s.Also):
			return true
		case ascii.EqualFold(word, "default") && !s.Extra:
			return true
		}
	}
	return false
}
