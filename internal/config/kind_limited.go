package config

import (
	"errors"
	"strings"
)

type constantKind struct {
	value  string
	reason error
}

// constant is a directive that has one value and no field: users state it, programs ask for it.
func constant(value, reason string) kind { return constantKind{value, errors.New(reason)} }

func (k constantKind) set(_ *Config, args []string, _ bool) error {
	if !strings.EqualFold(args[0], k.value) {
		return k.reason
	}
	return nil
}
func (k constantKind) get(*Config) string { return k.value }
func (k constantKind) lines(_, _ *Config) []string {
	if k.value == "" {
		return []string{quote("")}
	}
	return []string{k.value}
}
func (k constantKind) shape() shape { return oneWord }

// filename is a string that names a file inside the working directory, not a path.
func filename(field func(*Config) *string, name string) kind {
	errPath := errors.New(name + " can't be a path, just a filename")
	return textKind{field, func(s string) error {
		if strings.ContainsAny(s, `/\`) {
			return errPath
		}
		return nil
	}}
}

// pathless is a name inside a directory that must not be empty; what says which kind of name it is.
func pathless(field func(*Config) *string, name, what string) kind {
	errEmpty, errPath := errors.New(name+" can't be empty"), errors.New(name+" can't be a path, just a "+what)
	return textKind{field, func(s string) error {
		switch {
		case s == "":
			return errEmpty
		case strings.ContainsAny(s, `/\`):
			return errPath
		}
		return nil
	}}
}
