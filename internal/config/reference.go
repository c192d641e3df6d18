package config

import "slices"

// Section is a heading of the page docs/CONFIGURATION.md, with its directives.
type Section struct {
	Title   string
	Entries []Entry
}

// Entry is the information of the page about a directive.
type Entry struct {
	Names   []string // the first is the directive's own; the others are older
	Default string   // the value as a file would state it
	Redis   string   // how Redis differs: its default, or that it has no such directive; empty: no difference
	Changes string   // when it may be changed after the start; empty: never
	Doc     string
	Words   []string // the possible values, if there are only a few
	Hidden  bool     // it is for tests
}

// Reference is the information of the page about all directives.
type Reference struct {
	Sections []Section
	Accepted []string  // directives that are accepted without effect
	Refused  []Refusal // directives for missing features
}

// Refusal is the reason for refusing a group of directives.
type Refusal struct {
	Names  []string
	Reason string
}

// NewReference collects it from the table.
func NewReference() Reference {
	var r Reference
	for _, t := range topics {
		s := Section{Title: t.title}
		for _, d := range t.rows {
			s.Entries = append(s.Entries, d.entry())
		}
		r.Sections = append(r.Sections, s)
	}
	for _, d := range keptRows() {
		r.Accepted = append(r.Accepted, d.Name)
	}
	for _, d := range absentRows() {
		reason := d.Kind.(notThereKind).reason.Error()
		i := slices.IndexFunc(r.Refused, func(x Refusal) bool { return x.Reason == reason })
		if i < 0 {
			i = len(r.Refused)
			r.Refused = append(r.Refused, Refusal{Reason: reason})
		}
		r.Refused[i].Names = append(append(r.Refused[i].Names, d.Name), d.Aliases...)
	}
	return r
}

func (d directive) entry() Entry {
	e := Entry{Names: append([]string{d.Name}, d.Aliases...), Default: d.Default, Doc: d.Doc, Redis: d.Redis, Hidden: d.Hidden}
	if choice, ok := d.Kind.(interface{ choices() []string }); ok {
		e.Words = choice.choices()
	}
	if d.Redis != "" && d.Redis != notInRedis {
		e.Redis = "Redis: " + d.Redis
	}
	switch d.When {
	case live:
		e.Changes = "CONFIG SET"
	case protected:
		e.Changes = "CONFIG SET, if enable-protected-configs allows it"
	}
	return e
}
