package config

import (
	"fmt"
	"maps"
	"slices"
)

// Directives returns every directive by its first name, with its value as CONFIG GET shows it. Directives
// without an effect are included, for CONFIG GET and CONFIG REWRITE. Assign accepts the result. A password
// from a file is left out, because the path of the file is included.
func (c *Config) Directives() map[string]string {
	all := make(map[string]string, len(directives))
	for i := range directives {
		d := &directives[i]
		if secret, is := d.Kind.(secretKind); !d.assignable() || is && *secret.path(c) != "" {
			continue
		}
		all[d.Name] = d.Kind.get(c)
	}
	return all
}

// Assign sets directives as CONFIG SET would, including those that can only be given at the start. It sets
// all of them or none. In the second case the error names the refused directive.
func (c *Config) Assign(values map[string]string) error {
	next := c.Clone()
	given := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		d := lookup(name)
		if d == nil || !d.assignable() {
			return &UnknownError{name}
		}
		if twice := given[d.Name]; twice != "" {
			return &SetError{name, fmt.Sprintf("%q is the same directive", twice)}
		}
		given[d.Name] = name
		assign := func() error { return d.assign(next, []string{values[name]}, false) }
		if lines, ok := d.Kind.(lineList); ok {
			assign = func() error { return lines.setText(next, values[name]) }
		}
		if err := assign(); err != nil {
			return &SetError{name, err.Error()}
		}
	}
	*c = *next
	return nil
}
