package config

import (
	"slices"
	"strings"

	"lockserver/internal/glob"
)

// Set is CONFIG SET: pairs holds name, value, name, value ... (an even number). Either all of them are set,
// or none; then the error names the refused one. It is an *UnknownError or a *SetError with the text of the
// whole reply. local says that the connection counts as "local" for enable-protected-configs. The result
// names the given directives, each once and by its first name.
//
// Applying is the owner's business: Set on a Clone, apply what changed, and keep the clone if that worked.
func (c *Config) Set(pairs []string, local bool) (names []string, err error) {
	if len(pairs)%2 != 0 {
		panic("config: Set needs pairs")
	}
	given := make(map[string]bool)
	for i := 0; i < len(pairs); i += 2 {
		name := strings.ToLower(pairs[i])
		d := byName[name]
		switch {
		case d == nil || d.When == inFile:
			return nil, &UnknownError{pairs[i]}
		case d.When == atStart, d.When == absentAtStart:
			return nil, &SetError{pairs[i], errImmutable.Error()}
		case d.When == protected && !c.EnableProtectedConfigs.Allows(local) && !d.opensNothingNew(c, pairs[i+1]):
			return nil, &SetError{pairs[i], errProtected.Error()}
		case given[name]:
			return nil, &SetError{pairs[i], errDuplicate.Error()}
		}
		// An old name beside the new one is no duplicate for Redis; the later one wins.
		given[name] = true
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	next := c.Clone()
	for i := 0; i < len(pairs); i += 2 {
		d := lookup(pairs[i])
		if err := d.assign(next, []string{pairs[i+1]}, false); err != nil {
			return nil, &SetError{strings.ToLower(pairs[i]), err.Error()}
		}
		if raised, is := d.Kind.(raisedKind); is {
			raised.raise(next)
		}
	}
	*c = *next
	return names, nil
}

// opensNothingNew reports whether a value of a protected directive can be set by all: it names no other file
// than the one that is named already.
func (d *directive) opensNothingNew(c *Config, value string) bool {
	k, is := d.Kind.(secretFileKind)
	return is && k.opensNothingNew(c, value)
}

// OpensFile reports whether the server opens a file, or looks for one, when the directive of this name is
// set. An unknown name does not.
func OpensFile(name string) bool {
	d := lookup(name)
	return d != nil && d.Opens
}

// Get is CONFIG GET: name, value, name, value ... of the directives that any of the patterns matches, each
// once, in the table's order. Names match in any case, and one that is asked for by its whole name is shown
// as it was spelled; old names stand beside new ones.
func (c *Config) Get(patterns ...string) []string {
	var pairs []string
	for i := range directives {
		d := &directives[i]
		if !d.shown() {
			continue
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			i := slices.IndexFunc(patterns, func(p string) bool { return d.answersTo(name, p) })
			if i < 0 {
				continue
			}
			if !isPattern(patterns[i]) {
				name = patterns[i]
			}
			pairs = append(pairs, name, d.Kind.get(c))
		}
	}
	return pairs
}

// answersTo reports whether a pattern of CONFIG GET asks for the directive by this name of it.
func (d *directive) answersTo(name, pattern string) bool {
	if !isPattern(pattern) {
		return strings.EqualFold(name, pattern)
	}
	return !d.Hidden && glob.Match([]byte(pattern), []byte(name), true)
}

// isPattern reports whether an argument of CONFIG GET is more than a name.
func isPattern(s string) bool { return strings.ContainsAny(s, "[*?") }
