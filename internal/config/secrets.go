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

// holdsSecret reports whether a directive of this name, as far as a name tells, has a password as its value:
// requirepass, masterauth, tls-key-file-pass, sentinel auth-pass, user.
func holdsSecret(name string) bool {
	name = strings.ToLower(strings.Trim(name, `-"'`))
	if name == "user" || strings.Contains(name, "secret") || strings.Contains(name, "auth") {
		return true
	}
	return strings.Contains(name, "pas") && !strings.Contains(name, "passive")
}
