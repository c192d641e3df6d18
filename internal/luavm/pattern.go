package luavm

import (
	"strings"

	"lockserver/internal/lua"
)

// Limits of patterns.
const (
	maxCaptures = 32 // Lua 5.1's LUA_MAXCAPTURES
	// maxMatchDepth limits the recursion of the matcher; Lua 5.2 has the same limit and message.
	maxMatchDepth = 20_000
	// stepsAtOnce is the number of a matcher's steps between two checks of the limits.
	stepsAtOnce = 1024
)

// Special lengths of captures: not closed yet, or a position.
const (
	captureUnfinished = -1
	capturePosition   = -2
)

// noMatch is the result of match if the pattern does not match.
const noMatch = -1

type capture struct{ start, length int }

// matcher matches a subject against a Lua 5.1 pattern by backtracking.
type matcher struct {
	L        *lua.LState
	s        *State
	subject  string
	pattern  string
	level    int
	depth    int
	steps    int
	captures [maxCaptures]capture
}

func newMatcher(L *lua.LState, subject, pattern string) *matcher {
	return &matcher{L: L, s: FromLua(L), subject: subject, pattern: pattern}
}

// step counts work, so that a pattern that takes forever can be stopped.
func (m *matcher) step() {
	m.steps++
	if m.steps >= stepsAtOnce {
		m.steps = 0
		m.s.work(m.L, stepsAtOnce)
	}
}

// classEnd returns the position after the single-character class at p.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pattern) {
			fail(m.L, "malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(m.pattern) && m.pattern[p] == '^' {
			p++
		}
		for first := true; first || m.at(p) != ']'; first = false {
			if p >= len(m.pattern) {
				fail(m.L, "malformed pattern (missing ']')")
			}
			escaped := m.pattern[p] == '%'
			p++
			if escaped {
				if p >= len(m.pattern) {
					fail(m.L, "malformed pattern (missing ']')")
				}
				p++
			}
		}
		return p + 1
	default:
		return p
	}
}

// at returns the pattern's byte at p, or 0 behind its end.
func (m *matcher) at(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

// inClass reports whether c is in the class that a letter after % names.
func inClass(c, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = isLetter(c)
	case 'c':
		in = c < ' ' || c == 0x7f
	case 'd':
		in = lua.IsDigit(int(c))
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > ' ' && c < 0x7f && !isLetter(c) && !lua.IsDigit(int(c))
	case 's':
		in = lua.IsSpace(int(c))
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = isLetter(c) || lua.IsDigit(int(c))
	case 'x':
		in = lua.IsHexDigit(int(c))
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if class >= 'A' && class <= 'Z' {
		return !in
	}
	return in
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// inSet reports whether c is in the set between the bracket at p and end.
func (m *matcher) inSet(c byte, p, end int) bool {
	found := true
	p++
	if m.pattern[p] == '^' {
		found = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return found
			}
		case m.at(p+1) == '-' && p+2 < end:
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return found
			}
			p += 2
		case m.pattern[p] == c:
			return found
		}
	}
	return !found
}

// single tells whether the subject's byte at i is in the class from p to end.
func (m *matcher) single(i, p, end int) bool {
	if i >= len(m.subject) {
		return false
	}
	c := m.subject[i]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	default:
		return m.pattern[p] == c
	}
}

// match matches the pattern from p on at i, and returns where the match ends.
func (m *matcher) match(i, p int) int {
	m.depth++
	if m.depth > maxMatchDepth {
		fail(m.L, "pattern too complex")
	}
	end := m.matchOn(i, p)
	m.depth--
	return end
}

// matchOn is match with a count of the depth.
func (m *matcher) matchOn(i, p int) int {
	for {
		m.step()
		if p >= len(m.pattern) {
			return i
		}
		switch c := m.pattern[p]; {
		case c == '(':
			if m.at(p+1) == ')' {
				return m.open(i, p+2, capturePosition)
			}
			return m.open(i, p+1, captureUnfinished)
		case c == ')':
			return m.close(i, p+1)
		case c == '$' && p+1 == len(m.pattern):
			if i == len(m.subject) {
				return i
			}
			return noMatch
		case c == '%' && m.at(p+1) == 'b':
			i = m.balanced(i, p+2)
			p += 4
		case c == '%' && m.at(p+1) == 'f':
			var ok bool
			if p, ok = m.frontier(i, p+2); !ok {
				return noMatch
			}
		case c == '%' && lua.IsDigit(int(m.at(p+1))):
			i = m.again(i, m.pattern[p+1])
			p += 2
		default:
			end := m.classEnd(p)
			switch m.at(end) {
			case '?':
				if m.single(i, p, end) {
					if result := m.match(i+1, end+1); result != noMatch {
						return result
					}
				}
				p = end + 1
				continue
			case '*':
				return m.most(i, p, end)
			case '+':
				if !m.single(i, p, end) {
					return noMatch
				}
				return m.most(i+1, p, end)
			case '-':
				return m.least(i, p, end)
			}
			if !m.single(i, p, end) {
				return noMatch
			}
			i++
			p = end
		}
		if i == noMatch {
			return noMatch
		}
	}
}

// most matches as many repetitions as possible.
func (m *matcher) most(i, p, end int) int {
	count := 0
	for m.single(i+count, p, end) {
		count++
		m.step()
	}
	for ; count >= 0; count-- {
		if result := m.match(i+count, end+1); result != noMatch {
			return result
		}
	}
	return noMatch
}

// least matches as few repetitions as possible.
func (m *matcher) least(i, p, end int) int {
	for {
		if result := m.match(i, end+1); result != noMatch {
			return result
		}
		if !m.single(i, p, end) {
			return noMatch
		}
		i++
		m.step()
	}
}

func (m *matcher) open(i, p, what int) int {
	if m.level >= maxCaptures {
		fail(m.L, "too many captures")
	}
	m.captures[m.level] = capture{start: i, length: what}
	m.level++
	result := m.match(i, p)
	if result == noMatch {
		m.level--
	}
	return result
}

func (m *matcher) close(i, p int) int {
	index := -1
	for l := m.level - 1; l >= 0; l-- {
		if m.captures[l].length == captureUnfinished {
			index = l
			break
		}
	}
	if index < 0 {
		fail(m.L, "invalid pattern capture")
	}
	m.captures[index].length = i - m.captures[index].start
	result := m.match(i, p)
	if result == noMatch {
		m.captures[index].length = captureUnfinished
	}
	return result
}

// balanced matches %bxy; its x is at p.
func (m *matcher) balanced(i, p int) int {
	if p+1 >= len(m.pattern) {
		fail(m.L, "unbalanced pattern")
	}
	if i >= len(m.subject) || m.subject[i] != m.pattern[p] {
		return noMatch
	}
	begin, end, depth := m.pattern[p], m.pattern[p+1], 1
	for i++; i < len(m.subject); i++ {
		m.step()
		switch m.subject[i] {
		case end:
			depth--
			if depth == 0 {
				return i + 1
			}
		case begin:
			depth++
		}
	}
	return noMatch
}

// frontier matches %f[set] with the set at p, and returns the position behind it.
func (m *matcher) frontier(i, p int) (next int, ok bool) {
	if m.at(p) != '[' {
		fail(m.L, "missing '[' after '%f' in pattern")
	}
	end := m.classEnd(p)
	var before, here byte
	if i > 0 {
		before = m.subject[i-1]
	}
	if i < len(m.subject) {
		here = m.subject[i]
	}
	return end, !m.inSet(before, p, end-1) && m.inSet(here, p, end-1)
}

// again matches the text of an earlier capture.
func (m *matcher) again(i int, digit byte) int {
	index := int(digit) - '1'
	if index < 0 || index >= m.level || m.captures[index].length == captureUnfinished {
		fail(m.L, "invalid capture index")
	}
	if m.captures[index].length == capturePosition {
		return noMatch
	}
	text := m.subject[m.captures[index].start:][:m.captures[index].length]
	if strings.HasPrefix(m.subject[i:], text) {
		return i + len(text)
	}
	return noMatch
}

// value returns a capture. If the pattern has no captures, the first is the whole match, from start to end.
func (m *matcher) value(index, start, end int) lua.Value {
	if index >= m.level {
		if index != 0 {
			fail(m.L, "invalid capture index")
		}
		return m.text(start, end)
	}
	switch c := m.captures[index]; c.length {
	case captureUnfinished:
		fail(m.L, "unfinished capture")
		return lua.Nil
	case capturePosition:
		return lua.Int(c.start + 1)
	default:
		return m.text(c.start, c.start+c.length)
	}
}

// text is a part of the subject. Parts share its memory.
func (m *matcher) text(start, end int) lua.Value { return lua.String(m.subject[start:end]) }

// push pushes all captures and returns their number. Without captures, whole says whether to push the whole
// match.
func (m *matcher) push(start, end int, whole bool) int {
	count := m.level
	if count == 0 && whole {
		count = 1
	}
	for i := 0; i < count; i++ {
		m.L.PushValue(m.value(i, start, end))
	}
	return count
}
