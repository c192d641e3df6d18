package hostile

import (
	"slices"
	"time"

	"lockserver/tests/shrink"
)

// shrinking limits the time in which a failing scenario is shrunk.
const (
	shrinkFor      = 3 * time.Minute
	shrinkForBrief = 100 * time.Second
	// triesOfAPart is how often a smaller scenario is played before it counts as one without a finding.
	triesOfAPart = 2
)

// shrinker shrinks a failing scenario by leaving out the parts that the finding does not need.
type shrinker struct {
	until time.Time
	best  scenario
	last  finding // the finding of best
}

// shrunk returns the smallest scenario that it finds in a few minutes with the same kind of finding.
func shrunk(sc scenario, f finding, brief bool) report {
	took := shrinkFor
	if brief {
		took = shrinkForBrief
	}
	s := &shrinker{until: time.Now().Add(took), best: sc, last: f}
	const tries = 4
	again := false
	for range tries {
		if again = s.shows(sc); again {
			break
		}
	}
	if !again {
		return report{finding: f, scenario: sc, tries: tries}
	}
	for before := -1; before != s.best.size() && time.Now().Before(s.until); {
		before = s.best.size()
		s.steps()
		s.commands()
		s.config()
		s.wordsOf()
	}
	return report{finding: s.last, scenario: s.best}
}

// size returns the size that shrinking reduces.
func (sc scenario) size() int {
	n := len(sc.config) + len(sc.steps)
	for _, s := range sc.steps {
		for _, c := range s.commands {
			n += 1 + len(c)
			for _, word := range c {
				n += len(word)
			}
		}
	}
	return n
}

// shows reports whether a scenario has the same kind of finding. If so it becomes the best so far.
func (s *shrinker) shows(sc scenario) bool {
	for range triesOfAPart {
		if time.Now().After(s.until) {
			return false
		}
		how := care{within: answerWithin, restart: s.last.kind == lost || s.last.kind == dumb || s.last.kind == unread}
		if s.last.kind == hung || s.last.kind == silent {
			how.within = answerWithinBrief
		}
		f, err := playAnywhere(sc, how)
		if err == nil && f != nil && f.kind == s.last.kind {
			sc.steps = slices.Clone(sc.steps)
			s.best, s.last = sc, *f
			return true
		}
	}
	return false
}

// reduce leaves out unnecessary parts of the best scenario. with returns the scenario that has only the given
// parts.
func reduce[T any](s *shrinker, parts []T, with func(left []T) scenario) {
	shrink.Steps(parts, func(left []T) bool { return s.shows(with(left)) }, shrink.Limits{Time: time.Until(s.until)})
}

func (s *shrinker) steps() {
	whole := s.best
	reduce(s, whole.steps, func(left []step) scenario {
		sc := whole
		sc.steps = left
		return sc
	})
}

// commands leaves out commands, and writes that have no commands left.
func (s *shrinker) commands() {
	whole := s.best
	type place struct{ step, command int }
	var places []place
	for i, st := range whole.steps {
		for j := range st.commands {
			places = append(places, place{i, j})
		}
	}
	reduce(s, places, func(left []place) scenario {
		sc := whole
		sc.steps = nil
		for i, st := range whole.steps {
			had := len(st.commands)
			st.commands = nil
			for len(left) > 0 && left[0].step == i {
				st.commands = append(st.commands, whole.steps[i].commands[left[0].command])
				left = left[1:]
			}
			if had == 0 || len(st.commands) > 0 {
				sc.steps = append(sc.steps, st)
			}
		}
		return sc
	})
}

func (s *shrinker) config() {
	whole := s.best
	reduce(s, whole.config, func(left [][]string) scenario {
		sc := whole
		sc.config = left
		return sc
	})
	if s.best.loops > 0 {
		sc := s.best
		sc.loops = 0
		s.shows(sc)
	}
}

// wordsOf shortens the commands: fewer and shorter words.
func (s *shrinker) wordsOf() {
	for i := range s.best.steps {
		for j := range s.best.steps[i].commands {
			for k := len(s.best.steps[i].commands[j]) - 1; k > 0; k-- {
				if time.Now().After(s.until) {
					return
				}
				command := s.best.steps[i].commands[j]
				if s.shows(s.best.with(i, j, slices.Delete(slices.Clone(command), k, k+1))) {
					continue
				}
				if len(command[k]) > 40 {
					shorter := slices.Clone(command)
					shorter[k] = command[k][:10]
					s.shows(s.best.with(i, j, shorter))
				}
			}
		}
	}
}

// with returns the scenario with another command at a place.
func (sc scenario) with(step, command int, words []string) scenario {
	sc.steps = slices.Clone(sc.steps)
	sc.steps[step].commands = slices.Clone(sc.steps[step].commands)
	sc.steps[step].commands[command] = words
	return sc
}
