package info

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
)

// Section is a section of INFO.
type Section struct {
	Name string // the name in its headline, and the word that requests it
	Also string // another such word; may be empty
	// Extra says that it is only shown if the call names it, or names "all" or "everything".
	Extra bool
	Write func(t *Text)
}

// Rows returns the commands of this package. sectionsOf returns the sections of the server that runs a
// command, in the order in which they are shown.
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

// All returns the reply of INFO EVERYTHING.
func All(sections []Section) string { return write(sections, [][]byte{[]byte("everything")}) }

// write writes the sections that the words request.
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
