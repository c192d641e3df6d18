package config

import "strings"

// hidden is what an error or the log has in place of a secret.
const hidden = "(hidden)"

// withoutSecret is a line of a configuration as errors and the log may have it: of a directive that holds a
// secret, the name alone. A misspelt name counts as well, and so does a line whose quotes do not match.
func withoutSecret(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(blanks, r) })
	for i, word := range words[:min(2, len(words))] {
		if !holdsSecret(word) {
			continue
		}
		if i+1 == len(words) {
			return line
		}
		return strings.Join(words[:i+1], " ") + " " + hidden
	}
	return line
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
