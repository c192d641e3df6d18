package lua

import "fmt"

// token is a kind of token. A single character is its own token; all other tokens follow firstReserved.
type token int

// The tokens of Lua 5.1, which has neither `goto` nor `::`.
const firstReserved token = 257

const (
	tokAnd token = firstReserved + iota
	tokBreak
	tokDo
	tokElse
	tokElseif
	tokEnd
	tokFalse
	tokFor
	tokFunction
	tokIf
	tokIn
	tokLocal
	tokNil
	tokNot
	tokOr
	tokRepeat
	tokReturn
	tokThen
	tokTrue
	tokUntil
	tokWhile
	tokConcat
	tokDots
	tokEq
	tokGe
	tokLe
	tokNe
	tokNumber
	tokName
	tokString
	tokEOS
)

// noToken asks lexer.fail to leave out the near part of the message.
const noToken token = -1

// tokenNames holds the names in the order of the constants.
var tokenNames = [...]string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
	"repeat", "return", "then", "true", "until", "while", "..", "...", "==", ">=", "<=", "~=", "<number>", "<name>",
	"<string>", "<eof>",
}

// reservedWord is the token of a word, or tokName when it is an ordinary name.
func reservedWord(word string) token {
	if len(word) < 2 || len(word) > 8 {
		return tokName
	}
	for i, name := range tokenNames[:tokWhile-firstReserved+1] {
		if name == word {
			return firstReserved + token(i)
		}
	}
	return tokName
}

// String names a token as Lua's messages do.
func (t token) String() string {
	switch {
	case t >= firstReserved:
		return tokenNames[t-firstReserved]
	case t < ' ' || t == 0x7f:
		return fmt.Sprintf("char(%d)", int(t))
	default:
		return string([]byte{byte(t)})
	}
}
