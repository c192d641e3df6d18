package config

import (
	"slices"
	"strings"
)

// anyWords is the limit of words for a line without a limit.
const anyWords = 1 << 30

// lineList is a directive that may occur on several lines, each a list of words (user, rename-command). Its
// text consists of these lines.
type lineList struct {
	field       func(*Config) *[][]string
	least, most int // words on a line
}

func (k lineList) set(c *Config, args []string, again bool) error {
	if !again {
		*k.field(c) = nil
	}
	return k.add(c, args)
}

func (k lineList) add(c *Config, words []string) error {
	if len(words) < k.least || len(words) > k.most {
		return errArgCount
	}
	list := k.field(c)
	*list = append(slices.Clip(*list), slices.Clone(words))
	return nil
}

// setText sets the value from the text that get returns.
func (k lineList) setText(c *Config, text string) error {
	*k.field(c) = nil
	for line := range strings.Lines(text) {
		words, ok := splitWords(strings.TrimRight(line, "\n"))
		if !ok {
			return errUnbalanced
		}
		if err := k.add(c, words); err != nil {
			return err
		}
	}
	return nil
}

func (k lineList) get(c *Config) string { return strings.Join(k.lines(c, nil), "\n") }

func (k lineList) lines(c, _ *Config) []string {
	var lines []string
	for _, words := range *k.field(c) {
		shownWords := make([]string, len(words))
		for i, w := range words {
			shownWords[i] = shown(w)
		}
		lines = append(lines, strings.Join(shownWords, " "))
	}
	return lines
}

func (lineList) shape() shape { return lineByLine }
