package queued

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/anishathalye/porcupine"
)

// kind is the kind of an operation.
type kind uint8

const (
	take  kind = iota // LOCK or SEM.ACQUIRE that was granted, or may have been
	back              // UNLOCK or SEM.RELEASE, or a grant that the server gives back by itself
	none              // an acquisition that was refused
	used              // SEM.INFO or LOCK.INFO
	check             // LOCK.CONFIRM of a grant: it replies whether the owner holds it
)

// mostTakes is the largest number of acquisitions in a history.
const mostTakes = 256

// operation is an entry of a history. Each acquisition has its own owner, which is a number.
type operation struct {
	kind      kind
	owner     int
	permits   int64 // as request.permits
	call, ret int64 // nanoseconds
	unknown   bool  // unknown whether it happened
	token     int64 // for take, if it is known; the lowest of several locks
	last      int64 // for take: the highest token
	reply     int64 // for back: the reply, 1 for given back; for used: the number; for check: 1 or 0
	excused   bool  // for none: another request may have been before it in the queue
	why       string
}

func (op *operation) String() string {
	name := [...]string{"take", "back", "none", "used", "check"}[op.kind]
	text := fmt.Sprintf("%d..%d us: %s owner %d permits %d", op.call/1000, op.ret/1000, name, op.owner, op.permits)
	switch {
	case op.unknown:
		return text + " -> ? " + op.why
	case op.kind == take:
		return fmt.Sprint(text, " -> token ", op.token, " ", op.why)
	}
	return fmt.Sprint(text, " -> ", op.reply, " ", op.why)
}

// state is the state of the permits or locks.
type state struct {
	held  [mostTakes / 64]uint64
	sum   int64 // the number of permits in use, or the set of held locks
	token int64 // the highest token so far
}

func (s *state) holds(owner int) bool { return s.held[owner/64]&(1<<(owner%64)) != 0 }

// model is a semaphore with the given number of permits; a lock has one permit. Or it is several locks that
// are acquired together.
type model struct {
	several bool
	limit   int64
	permits [mostTakes]int64 // by owner: the permits of its request
}

func (m *model) flip(s *state, owner int) {
	s.held[owner/64] ^= 1 << (owner % 64)
	switch {
	case m.several:
		s.sum ^= m.permits[owner]
	case s.holds(owner):
		s.sum += m.permits[owner]
	default:
		s.sum -= m.permits[owner]
	}
}

// free reports whether an owner can get what its request asks for.
func (m *model) free(s *state, owner int) bool {
	if m.several {
		return s.sum&m.permits[owner] == 0
	}
	return s.sum+m.permits[owner] <= m.limit
}

// used returns the number of permits, or locks, in use.
func (m *model) used(s *state) int64 {
	if m.several {
		return int64(bits.OnesCount64(uint64(s.sum)))
	}
	return s.sum
}

// step returns the possible states after an operation.
func (m *model) step(s state, op *operation) (after []any) {
	if op.unknown { // it may have had no effect
		after = append(after, s)
	}
	free := m.free(&s, op.owner)
	switch op.kind {
	case take:
		switch {
		case s.holds(op.owner): // it is a repetition
			if !op.unknown {
				after = append(after, s)
			}
		case free && (op.unknown || op.token > s.token):
			if !op.unknown {
				s.token = op.last
			}
			m.flip(&s, op.owner)
			after = append(after, s)
		}
	case back:
		held := s.holds(op.owner)
		switch {
		case held && (op.unknown || op.reply == 1):
			m.flip(&s, op.owner)
			after = append(after, s)
		case !held && !op.unknown && op.reply == 0:
			after = append(after, s)
		}
	case none:
		if !s.holds(op.owner) && (!free || op.excused) {
			after = append(after, s)
		}
	case used:
		if m.used(&s) == op.reply {
			after = append(after, s)
		}
	case check:
		if s.holds(op.owner) == (op.reply == 1) {
			after = append(after, s)
		}
	}
	return after
}

func (m *model) porcupine() porcupine.Model {
	nm := porcupine.NondeterministicModel{
		Init:              func() []any { return []any{state{}} },
		Step:              func(s, input, _ any) []any { return m.step(s.(state), input.(*operation)) },
		Equal:             func(a, b any) bool { return a.(state) == b.(state) },
		Hash:              func(s any) uint64 { return hash(s.(state)) },
		DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
	}
	return nm.ToModel()
}

func hash(s state) uint64 {
	h := uint64(14695981039346656037)
	for _, word := range s.held {
		h = (h ^ word) * 1099511628211
	}
	return (h ^ uint64(s.token)) * 1099511628211
}

// explain describes the longest possible order, and the operations that could not come next.
func explain(m porcupine.Model, ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	placed := make(map[*operation]bool)
	for _, op := range longest {
		placed[op.Input.(*operation)] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d operations can be put in order; the last of them:\n", len(longest), len(ops))
	for _, op := range longest[max(0, len(longest)-15):] {
		fmt.Fprintf(&b, "  %s\n", op.Input)
	}
	b.WriteString("but none of these can come next:\n")
	first := int64(1) << 62
	for _, op := range ops {
		if !placed[op.Input.(*operation)] {
			first = min(first, op.Return)
		}
	}
	for _, op := range ops {
		if !placed[op.Input.(*operation)] && op.Call <= first {
			fmt.Fprintf(&b, "  %s\n", op.Input)
		}
	}
	return b.String()
}
