//go:build oracle

package differential

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/tests/shrink"
	"lockserver/tests/testkit"
)

const (
	// contextLines is the number of commands before a failure that are shown if it cannot be shrunk.
	contextLines = 15
	// shrinkTime is the longest time for playing a failing sequence again to find the commands that it needs.
	shrinkTime = 20 * time.Second
)

// step is a command of a sequence.
type step struct {
	name  string // name of the row from which it was made
	args  []string
	check check // nil means that the replies must be equal
}

// sequence is a number of commands on data that begins empty.
type sequence struct {
	*pair
	version int // version of the protocol
	steps   []step
	// after, if set, is called after each step and returns the fault, or "".
	after func(s step) string

	open   bool       // between MULTI and EXEC
	queued [][]string // since MULTI
}

// failure is a fault in a sequence.
type failure struct {
	at   int    // the index of the step; for a difference in the data, one past the last
	name string // the name of that step
	what string
}

// inData names a difference in the data that no reply showed, inCount a difference in the number of changes.
const inData, inCount = "data", "count"

// play plays steps and returns the first failure, or nil.
func (s *sequence) play(steps []step) *failure {
	s.t.Helper()
	s.begin(s.version)
	s.forget()
	s.open, s.queued = false, nil
	s.forgetChanges()
	for i, step := range steps {
		if oneSided[step.name] {
			if wrong := s.compareChanges(); wrong != "" {
				return &failure{i, inCount, wrong}
			}
		}
		wrong := s.step(step)
		if oneSided[step.name] {
			s.forgetChanges()
		}
		if wrong == "" && s.after != nil {
			wrong = s.after(step)
		}
		if wrong != "" {
			return &failure{i, step.name, wrong}
		}
	}
	if diff := s.finalDiff(); len(diff) > 0 {
		return &failure{len(steps), inData, "the data differs (lockserver | redis):\n  " + strings.Join(diff, "\n  ")}
	}
	if wrong := s.compareChanges(); wrong != "" {
		return &failure{len(steps), inCount, wrong}
	}
	return nil
}

// countAgain plays all steps again after a difference in the number of changes. A key that is overdue from
// the start (SET with EXAT) counts as one more change if it is overwritten before the server has removed it.
// How soon Redis does that depends on its recent findings. A difference that does not come again had this
// cause.
func (s *sequence) countAgain(first *failure) *failure {
	s.t.Helper()
	again := s.play(s.steps)
	if again == nil {
		s.t.Logf("did not come again: %s", s.context(first))
	}
	return again
}

// forget undoes the effects that FLUSHALL leaves: a sequence may be played again without the step that caused
// them.
func (s *sequence) forget() {
	s.t.Helper()
	for _, side := range s.sides() {
		for _, args := range append([][]string{{"FUNCTION", "FLUSH"}, {"SCRIPT", "FLUSH"}}, defaultSizes()...) {
			require.Equal(s.t, "+OK", side.watch.Do(args...).String(), line(args))
		}
	}
}

// step plays one command and returns the difference between the replies, or "".
func (s *sequence) step(step step) string {
	s.t.Helper()
	switch {
	case step.name == "exec" && s.open:
		return s.exec()
	case s.open:
		s.open = step.name != "discard"
		ours, redis := s.do(step.args...)
		if ours.String() != redis.String() {
			return differ(ours, redis)
		}
		if ours.Kind == resp.Simple {
			s.queued = append(s.queued, step.args)
		}
		return ""
	case step.name == "multi":
		s.open, s.queued = true, nil
	}
	if step.check != nil {
		return step.check(s.pair, step.args)
	}
	return checkSame(s.pair, step.args)
}

// exec ends a transaction and compares the replies of its commands.
func (s *sequence) exec() string {
	s.t.Helper()
	s.open = false
	ours, redis := s.do("EXEC")
	if ours.Kind != resp.Array || redis.Kind != resp.Array || len(ours.Elems) != len(redis.Elems) ||
		len(ours.Elems) != len(s.queued) {
		if ours.String() != redis.String() {
			return differ(ours, redis)
		}
		return ""
	}
	for i, args := range s.queued {
		if !testkit.SameReply(args, ours.Elems[i], redis.Elems[i]) {
			return line(args) + "\n  " + differ(ours.Elems[i], redis.Elems[i])
		}
	}
	return ""
}

// makesSense refuses sequences in which a step for use outside of transactions has got into one.
func makesSense(steps []step) bool {
	open := false
	for _, s := range steps {
		switch {
		case s.name == "multi":
			open = true
		case s.name == "exec" || s.name == "discard":
			open = false
		case open && s.check != nil:
			return false
		}
	}
	return true
}

// shrink finds the steps that a failure needs, and returns the failure of these.
func (s *sequence) shrink(f *failure) (shrink.Result[step], *failure) {
	s.t.Helper()
	smallest := f
	fails := func(part []step) bool {
		if !makesSense(part) {
			return false
		}
		again := s.play(part)
		if again == nil || again.name != f.name {
			return false
		}
		smallest = again
		return true
	}
	r := shrink.Search(s.steps[:min(f.at+1, len(s.steps))], fails, shrink.Limits{Time: shrinkTime})
	return r, smallest
}

// report describes a failure with the commands that it needs.
func (s *sequence) report(f *failure) string {
	s.t.Helper()
	r, smallest := s.shrink(f)
	if !r.Reproduced {
		return fmt.Sprintf("%s\n%s", s.context(f), r)
	}
	return s.describe(r, smallest)
}

// describe describes a shrunk sequence.
func (s *sequence) describe(r shrink.Result[step], smallest *failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d of the protocol; %s:\n", s.version, r)
	for _, step := range r.Steps {
		fmt.Fprintf(&b, "  %s\n", shortLine(step.args))
	}
	fmt.Fprintf(&b, "  %s", smallest.what)
	return b.String()
}

// context describes a failure that did not come again, with the last commands on the same keys.
func (s *sequence) context(f *failure) string {
	var lines []string
	for i, step := range s.steps[:min(f.at+1, len(s.steps))] {
		if f.name == inData || f.name == inCount || i == f.at || related(step.args, s.steps[f.at].args) {
			lines = append(lines, fmt.Sprintf("  %3d  %s", i, shortLine(step.args)))
		}
	}
	if more := len(lines) - contextLines; more > 0 {
		lines = append([]string{fmt.Sprintf("  ... %d more", more)}, lines[more:]...)
	}
	return fmt.Sprintf("version %d of the protocol; the last related commands:\n%s\n  %s",
		s.version, strings.Join(lines, "\n"), f.what)
}

// finalDiff compares the data; Redis lists due keys for a moment.
func (s *sequence) finalDiff() []string {
	s.t.Helper()
	diff := s.diff()
	for range 400 {
		if len(diff) == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
		diff = s.diff()
	}
	return diff
}

func stepOf(row *commands.Row, args []string) step {
	return step{name: row.FullName(), args: args, check: checks[row.FullName()]}
}

// related reports whether an earlier command may have affected a later one.
func related(earlier, later []string) bool {
	switch strings.ToUpper(earlier[0]) {
	case "SELECT", "FLUSHALL", "FLUSHDB", "SWAPDB", "CONFIG":
		return true
	}
	return slices.ContainsFunc(earlier[1:], func(word string) bool {
		return slices.Contains(allKeys, word) && slices.Contains(later[1:], word)
	})
}

func shortLine(args []string) string {
	l := line(args)
	if len(l) > 400 {
		l = l[:400] + "..."
	}
	return l
}
