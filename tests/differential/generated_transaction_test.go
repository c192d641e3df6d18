//go:build oracle

package differential

import (
	"lockserver/internal/resp"
	"lockserver/internal/testkit"
)

// transaction plays a few generated commands between MULTI and EXEC, now and then with a watched key that the client
// may change itself first, and says what went wrong with which command.
func (s *sequence) transaction() (name, wrong string) {
	s.t.Helper()
	same := func(args ...string) string {
		s.commands = append(s.commands, args)
		return checkSame(s.pair, args)
	}
	if s.generator.chance(30) {
		if wrong := same("WATCH", s.generator.pick(allKeys)); wrong != "" {
			return "watch", wrong
		}
		if name, args := s.plain(); s.generator.chance(50) {
			if wrong := same(args...); wrong != "" {
				return name, wrong
			}
		}
	}
	if wrong := same("MULTI"); wrong != "" {
		return "multi", wrong
	}
	var queued [][]string
	for range 1 + s.generator.rand.IntN(6) {
		name, args := s.plain()
		s.commands = append(s.commands, args)
		ours, redis := s.do(args...)
		if ours.String() != redis.String() {
			return name, differ(ours, redis)
		}
		if ours.Kind == resp.Simple {
			queued = append(queued, args)
		}
	}
	if s.generator.chance(10) {
		return "discard", same("DISCARD")
	}
	s.commands = append(s.commands, []string{"EXEC"})
	ours, redis := s.do("EXEC")
	if ours.Kind != resp.Array || redis.Kind != resp.Array || len(ours.Elems) != len(redis.Elems) ||
		len(ours.Elems) != len(queued) {
		if ours.String() != redis.String() {
			return "exec", differ(ours, redis)
		}
		return "", ""
	}
	for i, args := range queued {
		if !testkit.SameReply(args, ours.Elems[i], redis.Elems[i]) {
			return "exec", line(args) + "\n  " + differ(ours.Elems[i], redis.Elems[i])
		}
	}
	return "", ""
}

// plain generates a command whose reply does not depend on chance or the clock.
func (s *sequence) plain() (name string, args []string) {
	for {
		row, args := s.generator.next()
		if checks[row.FullName()] == nil {
			return row.FullName(), args
		}
	}
}
