package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// program is the command line, read from the text of --help, because only that text states the commands and
// options.
type program struct {
	server   command   // the text of lockserver --help
	commands []command // the texts of lockserver COMMAND --help, in the order in which the server's text names the commands
}

// command is the help text of one command.
type command struct {
	name     string // empty: the server
	summary  string // the description in the server's text
	synopsis []string
	blocks   []block
}

// block is either a paragraph or a list.
type block struct {
	paragraph string
	items     []item
}

// item is an entry of a list: an option or a call, and its description.
type item struct{ tag, text string }

// option is an option in a list: its name with the hyphens, whether a value follows, and its description.
type option struct {
	name  string
	value bool
	text  string
}

const (
	usagePrefix = "Usage: lockserver"
	callPrefix  = "lockserver "
)

// readProgram reads the help texts from the string constants of the packages in a directory.
func readProgram(dir string) (program, error) {
	texts, err := usageTexts(dir)
	if err != nil {
		return program{}, err
	}
	byName := make(map[string]command)
	for _, text := range texts {
		c := parseUsage(text)
		if _, twice := byName[c.name]; twice {
			return program{}, fmt.Errorf("two texts explain lockserver %s", c.name)
		}
		byName[c.name] = c
	}
	p := program{server: byName[""]}
	for _, call := range p.server.items() {
		name := commandName(strings.TrimPrefix(call.tag+" ", callPrefix))
		c, explained := byName[name]
		if name == "" || slices.ContainsFunc(p.commands, func(other command) bool { return other.name == name }) {
			continue
		}
		if !explained {
			return program{}, fmt.Errorf("no text explains lockserver %s", name)
		}
		c.summary = call.text
		p.commands = append(p.commands, c)
	}
	if p.server.blocks == nil || len(p.commands) != len(byName)-1 {
		return program{}, errors.New("the text of lockserver --help does not name every command")
	}
	return p, nil
}

// usageTexts returns the string constants that begin like a help text. A constant may be a sum of literals
// and other constants.
func usageTexts(dir string) (texts []string, err error) {
	constants := map[string]ast.Expr{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
				for i, name := range spec.Names {
					constants[name.Name] = spec.Values[i]
				}
			}
			return true
		})
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		text := constantText(constants[name], constants)
		if strings.HasPrefix(text, usagePrefix) && strings.Contains(text, "\n\n") {
			texts = append(texts, text)
		}
	}
	return texts, err
}

// constantText returns the value of an expression of string literals, names of constants, and sums of them.
// It is empty for any other expression.
func constantText(e ast.Expr, constants map[string]ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.Ident:
		if of, ok := constants[e.Name]; ok {
			return constantText(of, constants)
		}
	case *ast.BinaryExpr:
		return constantText(e.X, constants) + constantText(e.Y, constants)
	}
	return ""
}

// isCommand matches the name of a command. The command is the first word of a call.
var isCommand = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// commandName returns the first word behind the program's name, if it is the name of a command.
func commandName(words string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(words), " ")
	if isCommand.MatchString(first) {
		return first
	}
	return ""
}

// isItem matches a line of a list: two blanks, the term, two blanks or more, and the description.
var isItem = regexp.MustCompile(`^  (\S.*?)(?: {2,}(.*))?$`)

// parseUsage parses a help text: the lines of "Usage:", then paragraphs and lists with blank lines between
// them. A line that is indented further belongs to the entry above.
func parseUsage(text string) command {
	head, rest, _ := strings.Cut(text, "\n\n")
	c := command{name: commandName(strings.TrimPrefix(strings.Split(head, "\n")[0], usagePrefix))}
	for line := range strings.Lines(head) {
		c.synopsis = append(c.synopsis, strings.TrimSpace(strings.TrimPrefix(line, "Usage:")))
	}
	for part := range strings.SplitSeq(strings.TrimSpace(rest), "\n\n") {
		var b block
		for line := range strings.Lines(part) {
			line = strings.TrimRight(line, "\n")
			words := strings.TrimSpace(line)
			m := isItem.FindStringSubmatch(line)
			switch {
			case m != nil && !strings.HasPrefix(line, "   "):
				b.items = append(b.items, item{m[1], m[2]})
			case len(b.items) > 0:
				last := &b.items[len(b.items)-1]
				last.text = strings.TrimSpace(last.text + " " + words)
			default:
				b.paragraph = strings.TrimSpace(b.paragraph + " " + words)
			}
		}
		c.blocks = append(c.blocks, b)
	}
	return c
}

// items returns the entries of all lists.
func (c *command) items() (list []item) {
	for _, b := range c.blocks {
		list = append(list, b.items...)
	}
	return list
}

// options returns the options in the lists, including options inside of a call.
func (c *command) options() (list []option) {
	for _, it := range c.items() {
		tag := strings.TrimPrefix(it.tag, callPrefix)
		if !strings.HasPrefix(tag, "-") {
			continue
		}
		for name := range strings.SplitSeq(tag, " | ") {
			name, value, _ := strings.Cut(strings.TrimSpace(name), " ")
			name = strings.TrimSuffix(name, ",")
			if name != "-" {
				list = append(list, option{name, value != "", it.text})
			}
		}
	}
	return list
}
