package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// classLines is lock-class: each line has the name of a class and patterns of keys. In a single value, the
// word ";" separates the classes.
type classLines struct{}

const (
	mostClasses   = 64
	mostClassName = 64 // bytes
	otherClass    = "other"
	classEnd      = ";"
)

var (
	errClassWords    = errors.New("a class has a name and at least one pattern")
	errClassCount    = fmt.Errorf("there can be %d classes at most", mostClasses)
	errClassTwice    = errors.New("two classes have the same name")
	errClassReserved = fmt.Errorf("the class '%s' is for all keys that no pattern matches", otherClass)
	errClassName     = fmt.Errorf("the name of a class has letters, digits, '_', '-' and '.', %d at most", mostClassName)
	errClassPattern  = errors.New("a pattern of a class has no blanks; '?' stands for any byte")
)

func (classLines) set(c *Config, args []string, again bool) error {
	if !again {
		c.LockClasses = nil
	}
	args = slices.DeleteFunc(slices.Clone(args), func(word string) bool { return word == "" })
	for len(args) > 0 {
		end := slices.Index(args, classEnd)
		if end < 0 {
			end = len(args)
		}
		if err := checkClass(c.LockClasses, args[:end]); err != nil {
			return err
		}
		c.LockClasses = append(slices.Clip(c.LockClasses), slices.Clone(args[:end]))
		args = args[min(end+1, len(args)):]
	}
	return nil
}

// checkClass returns why a class cannot be added to the others, or nil.
func checkClass(others [][]string, words []string) error {
	switch {
	case len(words) < 2:
		return errClassWords
	case len(others) == mostClasses:
		return errClassCount
	case words[0] == otherClass:
		return errClassReserved
	case len(words[0]) > mostClassName || strings.ContainsFunc(words[0], notInClassName):
		return errClassName
	case slices.ContainsFunc(others, func(other []string) bool { return other[0] == words[0] }):
		return errClassTwice
	case slices.ContainsFunc(words[1:], func(p string) bool { return p == "" || strings.ContainsAny(p, " \t\r\n") }):
		return errClassPattern
	}
	return nil
}

func notInClassName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
}

func (k classLines) get(c *Config) string {
	var texts []string
	for _, words := range c.LockClasses {
		texts = append(texts, strings.Join(words, " "))
	}
	return strings.Join(texts, " "+classEnd+" ")
}

func (classLines) lines(c, _ *Config) []string {
	var lines []string
	for _, words := range c.LockClasses {
		shownWords := make([]string, len(words))
		for i, w := range words {
			shownWords[i] = shown(w)
		}
		lines = append(lines, strings.Join(shownWords, " "))
	}
	return lines
}

func (classLines) shape() shape { return lineByLine }
