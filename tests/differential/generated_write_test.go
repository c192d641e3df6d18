//go:build oracle

package differential

import "time"

// sizes lists the directives for sizes at which values change their encoding, each with its values in
// sequences: first the default. Most values are smaller than the default, so that a short sequence reaches
// them.
var sizes = []struct {
	name   string
	values []string
}{
	{"stream-node-max-entries", []string{"100", "100", "1", "3", "10"}},
	{"stream-node-max-bytes", []string{"4096", "4096", "0", "60"}},
	{"hash-max-listpack-entries", []string{"512", "2", "5"}},
	{"hash-max-listpack-value", []string{"64", "2"}},
	{"zset-max-listpack-entries", []string{"128", "2", "5"}},
	{"zset-max-listpack-value", []string{"64", "2"}},
	{"set-max-intset-entries", []string{"512", "3"}},
	{"set-max-listpack-entries", []string{"128", "2", "5"}},
	{"set-max-listpack-value", []string{"64", "2"}},
	{"list-max-listpack-size", []string{"-2", "1", "3", "-1"}},
}

// defaultSizes returns the commands that restore the defaults.
func defaultSizes() (commands [][]string) {
	for _, d := range sizes {
		commands = append(commands, []string{"CONFIG", "SET", d.name, d.values[0]})
	}
	return commands
}

// write returns the steps of a sequence.
func (g *generator) write(length int) []step {
	steps := g.configure()
	for end := len(steps) + length; len(steps) < end; {
		if g.chance(2) {
			steps = append(steps, g.transaction()...)
		}
		if g.rand.IntN(2*sequenceLength) == 0 {
			steps = append(steps, g.dying()...)
		}
		row, args := g.next()
		steps = append(steps, stepOf(row, args))
	}
	return steps
}

// configure sets some sizes to other values than the default.
func (g *generator) configure() (steps []step) {
	for _, d := range sizes {
		if v := g.pick(d.values); v != d.values[0] {
			steps = append(steps, step{name: "config|set", args: []string{"CONFIG", "SET", d.name, v}})
		}
	}
	return steps
}

// dying makes a key expire during the sequence.
func (g *generator) dying() []step {
	return []step{
		{name: "pexpire", args: []string{"PEXPIRE", g.pick(allKeys), "1"}},
		{name: pauseStep, args: []string{pauseStep}, check: func(*pair, []string) string {
			time.Sleep(5 * time.Millisecond)
			return ""
		}},
	}
}

// pauseStep is the name of a step that is no command.
const pauseStep = "pause"

// transaction returns a few commands between MULTI and EXEC. Sometimes a key is watched, and the client may
// change it itself first.
func (g *generator) transaction() (steps []step) {
	add := func(name string, args ...string) { steps = append(steps, step{name: name, args: args}) }
	if g.chance(30) {
		add("watch", "WATCH", g.pick(allKeys))
		if plain := g.plain(); g.chance(50) {
			steps = append(steps, plain)
		}
	}
	add("multi", "MULTI")
	for range 1 + g.rand.IntN(6) {
		steps = append(steps, g.plain())
	}
	if g.chance(10) {
		add("discard", "DISCARD")
	} else {
		add("exec", "EXEC")
	}
	return steps
}

// plain returns a command with a reply that depends neither on chance nor on the clock.
func (g *generator) plain() step {
	for {
		if s := stepOf(g.next()); s.check == nil {
			return s
		}
	}
}
