package config

import (
	"slices"
	"strings"

	"lockserver/internal/glob"
)

// Set runs CONFIG SET: pairs holds name, value, name, value ... (an even number). It sets all of them or
// none. In the second case the error names the refused directive. It is an *UnknownError or a *SetError with
// the text of the whole reply. local says that the connection counts as "local" for enable-protected-configs.
// The result lists the given directives, each once and by its first name.
//
// The owner of the configuration applies the changes: it calls Set on a Clone, applies the changes, and keeps
// the clone if that worked.
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
		// For Redis an old name beside the new name is no duplicate; the later one wins.
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

// opensNothingNew reports whether every client may set this value of a protected directive: it names the same
// file as the present value.
func (d *directive) opensNothingNew(c *Config, value string) bool {
	k, is := d.Kind.(secretFileKind)
	return is && k.opensNothingNew(c, value)
}

// OpensFile reports whether setting the directive opens a file, or looks for a file. It returns false for an
// unknown name.
func OpensFile(name string) bool {
	d := lookup(name)
	return d != nil && d.Opens
}

// Get runs CONFIG GET: it returns name, value, name, value ... of the directives that match a pattern, each
// once, in the table's order. Names match in any case. A directive requested by its whole name is shown as
// the request spells it; old names stand beside new names.
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

// answersTo reports whether a pattern of CONFIG GET selects the directive under this name.
func (d *directive) answersTo(name, pattern string) bool {
	if !isPattern(pattern) {
		return strings.EqualFold(name, pattern)
	}
	return !d.Hidden && glob.Match([]byte(pattern), []byte(name), true)
}

// isPattern reports whether an argument of CONFIG GET contains pattern characters.
func isPattern(s string) bool { return strings.ContainsAny(s, "[*?") }
