package config

import (
	"errors"
	"strings"
)

type onlyKind struct {
	kind
	value  string
	reason error
}

// only narrows inner to the one value that works so far; any other that inner would take is refused with the
// reason, so that nobody believes in a setting that does nothing.
func only(value, reason string, inner kind) kind { return onlyKind{inner, value, errors.New(reason)} }

func (k onlyKind) set(c *Config, args []string, again bool) error {
	if err := k.kind.set(c, args, again); err != nil {
		return err
	}
	if k.kind.get(c) != k.value {
		return k.reason
	}
	return nil
}

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
