package lua

import (
	"fmt"
	"strings"
)

// endOfSource is the value of lexer.current behind the last byte.
const endOfSource = -1

// lexer cuts source into tokens as Lua 5.1 does. It stops at the first error by a panic with a *CompileError,
// which Compile recovers.
type lexer struct {
	chunk    string // name for messages
	source   string
	pos      int // of the byte after current
	current  int // byte, or endOfSource
	line     int // of current
	lastLine int // of the previous token
	buffer   []byte
	kind     token
	text     string // the text of names and strings
	number   float64
	ahead    token // the token that peek has read; noToken: peek was not called
	aheadTxt string
	aheadNum float64
}

func newLexer(chunk, source string) *lexer {
	lx := &lexer{chunk: chunk, source: source, line: 1, lastLine: 1, ahead: noToken}
	lx.advance()
	return lx
}

// fail ends the compilation. near is the token that the message names.
func (lx *lexer) fail(message string, near token) {
	text := fmt.Sprintf("%s:%d: %s", lx.chunk, lx.line, message)
	if near != noToken && near != 0 { // Lua does not name a zero byte
		shown := near.String()
		if near == tokName || near == tokString || near == tokNumber {
			shown = CString(string(lx.buffer))
		}
		text += " near '" + shown + "'"
	}
	panic(&CompileError{Message: text})
}

// CString cuts s at the first zero byte, where C would see its end.
func CString(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}

func (lx *lexer) advance() {
	if lx.pos >= len(lx.source) {
		lx.current = endOfSource
		return
	}
	lx.current = int(lx.source[lx.pos])
	lx.pos++
}

func (lx *lexer) keep() {
	lx.buffer = append(lx.buffer, byte(lx.current))
	lx.advance()
}

// accept takes the current byte if it is one of set.
func (lx *lexer) accept(set string) bool {
	if lx.current == endOfSource || strings.IndexByte(set, byte(lx.current)) < 0 {
		return false
	}
	lx.keep()
	return true
}

// newline steps over \n, \r, \n\r or \r\n.
func (lx *lexer) newline() {
	old := lx.current
	lx.advance()
	if (lx.current == '\n' || lx.current == '\r') && lx.current != old {
		lx.advance()
	}
	lx.line++
}

// next moves on to the following token.
func (lx *lexer) next() {
	lx.lastLine = lx.line
	if lx.ahead != noToken {
		lx.kind, lx.text, lx.number = lx.ahead, lx.aheadTxt, lx.aheadNum
		lx.ahead = noToken
		return
	}
	lx.kind = lx.scan()
}

// peek is the token behind the current one.
func (lx *lexer) peek() token {
	text, number := lx.text, lx.number
	lx.ahead = lx.scan()
	lx.aheadTxt, lx.aheadNum = lx.text, lx.number
	lx.text, lx.number = text, number
	return lx.ahead
}

// scan reads one token, leaving its value in text or number.
func (lx *lexer) scan() token {
	lx.buffer = lx.buffer[:0]
	for {
		switch c := lx.current; c {
		case '\n', '\r':
			lx.newline()
		case '-':
			lx.advance()
			if lx.current != '-' {
				return '-'
			}
			lx.comment()
		case '[':
			level := lx.longBracket()
			if level >= 0 {
				lx.longString(true, level)
				return tokString
			}
			if level == -1 {
				return '['
			}
			lx.fail("invalid long string delimiter", tokString)
		case '=', '<', '>', '~':
			return lx.comparison()
		case '"', '\'':
			lx.quoted(c)
			return tokString
		case '.':
			return lx.dots()
		case endOfSource:
			return tokEOS
		default:
			if IsSpace(c) {
				lx.advance()
				continue
			}
			return lx.word()
		}
	}
}

// comment skips a comment; its second dash is the current byte.
func (lx *lexer) comment() {
	lx.advance()
	if lx.current == '[' {
		level := lx.longBracket()
		lx.buffer = lx.buffer[:0]
		if level >= 0 {
			lx.longString(false, level)
			lx.buffer = lx.buffer[:0]
			return
		}
	}
	for lx.current != '\n' && lx.current != '\r' && lx.current != endOfSource {
		lx.advance()
	}
}

func (lx *lexer) comparison() token {
	first := token(lx.current)
	lx.advance()
	if lx.current != '=' {
		return first
	}
	lx.advance()
	switch first {
	case '=':
		return tokEq
	case '<':
		return tokLe
	case '>':
		return tokGe
	default:
		return tokNe
	}
}

func (lx *lexer) dots() token {
	lx.keep()
	if lx.accept(".") {
		if lx.accept(".") {
			return tokDots
		}
		return tokConcat
	}
	if !IsDigit(lx.current) {
		return '.'
	}
	lx.numeral()
	return tokNumber
}

func (lx *lexer) word() token {
	switch c := lx.current; {
	case IsDigit(c):
		lx.numeral()
		return tokNumber
	case IsAlpha(c):
		for IsAlpha(lx.current) || IsDigit(lx.current) {
			lx.keep()
		}
		lx.text = string(lx.buffer)
		return reservedWord(lx.text)
	default:
		lx.advance()
		return token(c)
	}
}

func (lx *lexer) numeral() {
	for IsDigit(lx.current) || lx.current == '.' {
		lx.keep()
	}
	if lx.accept("Ee") {
		lx.accept("+-")
	}
	for IsAlpha(lx.current) || IsDigit(lx.current) {
		lx.keep()
	}
	number, ok := ParseNumber(string(lx.buffer))
	if !ok {
		lx.fail("malformed number", tokNumber)
	}
	lx.number = number
}

// longBracket reads `[==` (or `]==`) and returns the number of `=` before the second bracket. If no second
// bracket follows, the result is negative: -1 for a lone bracket.
func (lx *lexer) longBracket() int {
	bracket, count := lx.current, 0
	lx.keep()
	for lx.current == '=' {
		lx.keep()
		count++
	}
	if lx.current == bracket {
		return count
	}
	return -count - 1
}

func (lx *lexer) longString(isString bool, level int) {
	lx.keep()
	if lx.current == '\n' || lx.current == '\r' {
		lx.newline()
	}
	for {
		switch lx.current {
		case endOfSource:
			if isString {
				lx.fail("unfinished long string", tokEOS)
			}
			lx.fail("unfinished long comment", tokEOS)
		case '[':
			if lx.longBracket() == level {
				lx.keep()
				if level == 0 {
					lx.fail("nesting of [[...]] is deprecated", '[')
				}
			}
		case ']':
			if lx.longBracket() == level {
				lx.keep()
				if isString {
					lx.text = string(lx.buffer[level+2 : len(lx.buffer)-level-2])
				}
				return
			}
		case '\n', '\r':
			lx.buffer = append(lx.buffer, '\n')
			lx.newline()
			if !isString {
				lx.buffer = lx.buffer[:0]
			}
		default:
			lx.keep()
		}
	}
}

func (lx *lexer) quoted(quote int) {
	lx.keep()
	for lx.current != quote {
		switch lx.current {
		case endOfSource:
			lx.fail("unfinished string", tokEOS)
		case '\n', '\r':
			lx.fail("unfinished string", tokString)
		case '\\':
			lx.escape()
		default:
			lx.keep()
		}
	}
	lx.keep()
	lx.text = string(lx.buffer[1 : len(lx.buffer)-1])
}

// escape reads what follows a backslash.
func (lx *lexer) escape() {
	lx.advance()
	const letters, values = "abfnrtv", "\a\b\f\n\r\t\v"
	switch c := lx.current; {
	case c == endOfSource:
		// the caller reports the open string
	case c == '\n' || c == '\r':
		lx.buffer = append(lx.buffer, '\n')
		lx.newline()
	case IsDigit(c):
		value := 0
		for i := 0; i < 3 && IsDigit(lx.current); i++ {
			value = 10*value + lx.current - '0'
			lx.advance()
		}
		if value > 255 {
			lx.fail("escape sequence too large", tokString)
		}
		lx.buffer = append(lx.buffer, byte(value))
	default:
		if i := strings.IndexByte(letters, byte(c)); i >= 0 {
			lx.buffer = append(lx.buffer, values[i])
			lx.advance()
			return
		}
		lx.keep()
	}
}

func IsDigit(c int) bool { return c >= '0' && c <= '9' }

// IsAlpha tells whether c may begin a name; Lua counts the underscore.
func IsAlpha(c int) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func IsSpace(c int) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// CompileError is the reason why a source is not a valid chunk.
type CompileError struct {
	// Message is Lua's message: chunk name, line, the fault, and the token near it.
	Message string
}

func (e *CompileError) Error() string { return e.Message }
