package config

import (
	"math"
	"strings"
)

// when says at which times a directive may be given.
type when uint8

const (
	live          when = iota // in the file, on the command line, and by CONFIG SET
	atStart                   // not by CONFIG SET
	protected                 // by CONFIG SET only where enable-protected-configs allows it
	inFile                    // in the file and on the command line; unknown to CONFIG
	absent                    // known, and refused unless its value turns it off
	absentAtStart             // like absent, but CONFIG SET does not accept it
)

// directive is one row of the table topics.
type directive struct {
	Name    string
	Aliases []string // older or other names: accepted and shown everywhere, never written
	Default string   // the value as a file would state it, words separated by blanks
	When    when
	Kind    kind
	// Inert says that the value has no effect.
	Inert bool
	// Secret says that the value is or may contain a password or half of a login. No log, error, SLOWLOG or
	// MONITOR shows the value.
	Secret bool
	// Opens says that the value is a path, or that setting it opens or makes something. docs/SECURITY.md
	// lists the allowed values.
	Opens bool
	// Doc is the description in docs/CONFIGURATION.md, in the form of a cell of its table. It is empty if the
	// directive is inert or absent.
	Doc string
	// Redis is the default of Redis 7.4 in words, if it differs from ours. It is notInRedis if Redis has no
	// such directive.
	Redis string
	// Hidden directives are for tests. CONFIG GET shows them only by their whole name, not by a pattern.
	Hidden bool
}

const notInRedis = "not in Redis"

// topic is a heading of the table with its rows.
type topic struct {
	title string
	rows  []directive
}

const (
	mib = 1 << 20

	minInt32 = math.MinInt32
	maxInt32 = math.MaxInt32
	maxInt64 = math.MaxInt64
)

// valued reports whether a Config holds a value of the directive that CONFIG GET shows.
func (d *directive) valued() bool {
	return d.When == live || d.When == atStart || d.When == protected
}

// assignable reports whether a Config holds a value of the directive that Assign accepts.
func (d *directive) assignable() bool { return d.valued() || d.When == inFile }

// shown reports whether CONFIG GET shows the directive. An absent directive is shown with the value that
// turns it off.
func (d *directive) shown() bool {
	if absent, ok := d.Kind.(notThereKind); ok {
		return len(absent.off) > 0
	}
	return d.valued()
}

// defaultWords returns the default as arguments. An empty default is one empty argument.
func (d *directive) defaultWords() []string {
	if d.Kind.shape() != oneWord {
		return strings.Fields(d.Default)
	}
	return []string{d.Default}
}

// assign sets the directive to the arguments of one line. again says that an earlier line of the same load
// has set it already: lists then add to the earlier value. The error is a reason, without the name.
func (d *directive) assign(c *Config, args []string, again bool) error {
	if d.Kind.shape() == oneWord {
		if len(args) != 1 {
			return errArgCount
		}
		return d.Kind.set(c, args, again)
	}
	if d.When == inFile {
		return d.Kind.set(c, args, again)
	}
	// One argument may hold the whole list: CONFIG SET save "900 1", --save "900 1".
	if len(args) == 1 {
		args = splitBlanks(args[0])
	}
	return d.Kind.set(c, args, again)
}
