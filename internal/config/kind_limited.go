package config

import (
	"errors"
	"strings"
)

type constantKind struct {
	value  string
	reason error
}

// constant is a directive with one possible value and no field: users state it, programs ask for it.
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

type notThereKind struct {
	off    []string
	reason error
}

// notThere is a directive of Redis for a missing feature. off lists the values that turn it off; CONFIG GET
// shows the first. If off is empty, the directive is always refused.
func notThere(what string, off ...string) kind {
	return notThereKind{off, errors.New("not implemented: " + what)}
}

func (k notThereKind) set(_ *Config, args []string, _ bool) error {
	for _, off := range k.off {
		if strings.EqualFold(strings.Join(args, " "), off) {
			return nil
		}
	}
	return k.reason
}

func (k notThereKind) get(*Config) string {
	if len(k.off) == 0 {
		return ""
	}
	return k.off[0]
}

func (k notThereKind) lines(c, _ *Config) []string {
	switch {
	case len(k.off) == 0:
		return nil
	case k.off[0] == "":
		return []string{quote("")}
	}
	return []string{k.off[0]}
}

// shape is wordList, so that a refusal names the reason and not the number of words.
func (k notThereKind) shape() shape { return wordList }

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

// pathless is a name inside a directory that must not be empty; what is the kind of name.
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
