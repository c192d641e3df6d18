package readme

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

const prompt = "127.0.0.1:6379> "

// step is one command of a transcript with the lines that redis-cli prints for it. A block
// that begins without a prompt begins with the reply to the command that ended its terminal's
// last block: that one was waiting.
type step struct {
	command string // empty: the reply of the command before
	reply   string // lines, each with its newline; empty: none yet
	line    int    // in the README
}

func steps(b block) []step {
	var list []step
	for i, line := range strings.SplitAfter(strings.TrimSuffix(b.text, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\n") + "\n"
		command, isCommand := strings.CutPrefix(line, prompt)
		if isCommand || i == 0 {
			list = append(list, step{line: b.line + 1 + i})
		}
		if last := &list[len(list)-1]; isCommand {
			last.command = strings.TrimSpace(command)
		} else {
			last.reply += line
		}
	}
	return list
}

// words splits a command as redis-cli does, as far as the README needs it.
func words(command string) []string {
	var list []string
	for command != "" {
		quoted, isQuoted := strings.CutPrefix(command, `"`)
		if isQuoted {
			word, rest, _ := strings.Cut(quoted, `"`)
			list, command = append(list, word), strings.TrimLeft(rest, " ")
			continue
		}
		word, rest, _ := strings.Cut(command, " ")
		list, command = append(list, word), strings.TrimLeft(rest, " ")
	}
	return list
}

// printed is a reply as redis-cli prints it on a terminal, in version 2 of the protocol.
func printed(v resp.Value) string { return printedAt(v, "") }

// printedAt is printed with what stands before every line but the first.
func printedAt(v resp.Value, indent string) string {
	switch {
	case v.IsNull():
		return "(nil)\n"
	case v.IsError():
		return "(error) " + v.Str + "\n"
	case v.Kind == resp.Integer:
		return fmt.Sprintf("(integer) %d\n", v.Int)
	case v.Kind == resp.Bulk:
		return quote(v.Str) + "\n"
	case v.Kind == resp.Array && len(v.Elems) == 0:
		return "(empty array)\n"
	case v.Kind == resp.Array:
		width := len(strconv.Itoa(len(v.Elems)))
		var b strings.Builder
		for i, e := range v.Elems {
			if i > 0 {
				b.WriteString(indent)
			}
			fmt.Fprintf(&b, "%*d) %s", width, i+1, printedAt(e, indent+strings.Repeat(" ", width+2)))
		}
		return b.String()
	}
	return v.Str + "\n"
}

// quote writes a string as redis-cli does.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var (
	token    = regexp.MustCompile(`\b\d{16}\b`)
	streamID = regexp.MustCompile(`"\d{13}-\d+"`)
	duration = regexp.MustCompile(`(?m)^\(\d+\.\d\ds\)\n`)
	address  = regexp.MustCompile(`"127\.0\.0\.1:\d+"`)
	moment   = regexp.MustCompile(`\b\d{13}\b`)
	left     = regexp.MustCompile(`("ttl"\n *\d+\) \(integer\)) \d+`)
)

// chances holds what differs from run to run: which token of this run stands where the README shows one of
// its own. The two must correspond one to one and rise together.
type chances struct{ actual map[string]string }

// command puts this run's tokens in the place of the README's.
func (c *chances) command(line string) string {
	return token.ReplaceAllStringFunc(line, func(shown string) string {
		if got, ok := c.actual[shown]; ok {
			return got
		}
		return shown
	})
}

// compare says how what was printed differs from what the README shows; empty: it does not. How long a
// command took, times and addresses are left out of account.
func (c *chances) compare(shown, got string) string {
	plain := func(s string) string {
		s = streamID.ReplaceAllString(duration.ReplaceAllString(s, ""), `"<id>"`)
		s = left.ReplaceAllString(address.ReplaceAllString(s, `"<address>"`), "$1 <ms>")
		return moment.ReplaceAllString(token.ReplaceAllString(s, "<token>"), "<ms>")
	}
	if plain(shown) != plain(got) {
		return "the reply is another one"
	}
	actual := token.FindAllString(got, -1)
	for i, t := range token.FindAllString(shown, -1) {
		if before, ok := c.actual[t]; ok && before != actual[i] {
			return "the token should be the one it was before, " + before
		}
		c.actual[t] = actual[i]
	}
	for a, x := range c.actual {
		for b, y := range c.actual {
			if a < b && x >= y {
				return fmt.Sprintf("tokens should rise as the README's do: %s -> %s, %s -> %s", a, x, b, y)
			}
		}
	}
	return ""
}
