package config

import "strings"

// hidden is what an error or the log has in place of a secret.
const hidden = "(hidden)"

// withoutSecret returns a line of a configuration for errors and the log: only the name of a directive that
// holds a secret, or is not known. A line with unbalanced quotes counts as well.
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

// isKnown reports whether a line that begins with a word is of a directive that the parser knows.
func isKnown(word string) bool {
	name := strings.Trim(word, `-"'`)
	return lookup(name) != nil || strings.EqualFold(name, "include")
}

// IsSecret reports whether the value of the directive of this name, in any case, is not to be shown: its row
// says so. An unknown name is none.
func IsSecret(name string) bool {
	d := lookup(name)
	return d != nil && d.Secret
}

// IsKnown reports whether there is a directive of this name, in any case.
func IsKnown(name string) bool { return lookup(name) != nil }

// holdsSecret reports whether the words behind this one may be a secret: the word is the name of a secret
// directive, or part of an unknown one (sentinel auth-pass).
func holdsSecret(word string) bool {
	name := strings.Trim(word, `-"'`)
	return IsSecret(name) || strings.EqualFold(name, "auth-pass") || strings.EqualFold(name, "auth-user")
}
