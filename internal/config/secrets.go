package config

import "strings"

// hidden replaces a secret in errors and in the log.
const hidden = "(hidden)"

// withoutSecret returns a line of a configuration for errors and the log. If the directive is secret or
// unknown, only its name is returned. A line with unbalanced quotes counts as well.
func withoutSecret(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(blanks, r) })
	for i, word := range words[:min(2, len(words))] {
		if !holdsSecret(word) && (i > 0 || isKnown(word)) {
			continue
		}
		if i+1 == len(words) {
			return line
		}
		return strings.Join(words[:i+1], " ") + " " + hidden
	}
	return line
}

// isKnown reports whether the parser knows the directive of a line, by the line's first word.
func isKnown(word string) bool {
	name := strings.Trim(word, `-"'`)
	return lookup(name) != nil || strings.EqualFold(name, "include")
}

// IsSecret reports whether the value of a directive must not be shown. The name may be in any case. It
// returns false for an unknown name.
func IsSecret(name string) bool {
	d := lookup(name)
	return d != nil && d.Secret
}

// IsKnown reports whether there is a directive of this name, in any case.
func IsKnown(name string) bool { return lookup(name) != nil }

// holdsSecret reports whether the words after this word may be a secret: the word names a secret directive,
// or is part of an unknown directive (sentinel auth-pass).
func holdsSecret(word string) bool {
	name := strings.Trim(word, `-"'`)
	return IsSecret(name) || strings.EqualFold(name, "auth-pass") || strings.EqualFold(name, "auth-user")
}
