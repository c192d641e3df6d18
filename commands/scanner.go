package commands

import (
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
)

// Scanner reads the arguments of one call from left to right. It latches the first error: after one, every
// method returns its zero value and More is false, so that a handler reads all it needs and checks Err once.
// Reading past the end is a syntax error. Nothing of it allocates, except Fail's argument and String.
type Scanner struct {
	row  *Row
	args [][]byte
	next int
	err  error
}

// Args returns the scanner of this call, placed behind the command's and subcommand's name. Each call starts
// over; there is one scanner a context.
func (c *Ctx) Args() *Scanner {
	c.scanner = NewScanner(c.Row, c.Argv)
	return &c.scanner
}

// NewScanner reads the arguments in argv, which begins with the name of the row's command.
func NewScanner(row *Row, argv [][]byte) Scanner {
	return Scanner{row: row, args: argv, next: row.nameWords()}
}

// More reports whether there is something left to read, and nothing went wrong so far.
func (s *Scanner) More() bool { return s.err == nil && s.next < len(s.args) }

// Left is the number of arguments not read yet, 0 after an error.
func (s *Scanner) Left() int {
	if s.err != nil {
		return 0
	}
	return len(s.args) - s.next
}

// Bytes reads an argument. The bytes are the client's: valid during the call, not to be changed.
func (s *Scanner) Bytes() []byte {
	if !s.More() {
		s.Syntax()
		return nil
	}
	s.next++
	return s.args[s.next-1]
}

// Key reads a key.
func (s *Scanner) Key() []byte { return s.Bytes() }

// String reads an argument as a string, which is a copy.
func (s *Scanner) String() string { return string(s.Bytes()) }

// Peek returns the argument that is read next, without reading it; nil at the end or after an error.
func (s *Scanner) Peek() []byte {
	if !s.More() {
		return nil
	}
	return s.args[s.next]
}

// Rest reads all arguments that are left.
func (s *Scanner) Rest() [][]byte {
	if s.err != nil {
		return nil
	}
	rest := s.args[s.next:]
	s.next = len(s.args)
	return rest
}

// Take reads n arguments; with fewer left it is a syntax error.
func (s *Scanner) Take(n int) [][]byte {
	if n < 0 || n > s.Left() {
		s.Syntax()
		return nil
	}
	s.next += n
	return s.args[s.next-n : s.next]
}

// CountedKeys reads numkeys, at least 1, and as many keys. tooMany is the error if less than
// rest words would be left behind them.
func (s *Scanner) CountedKeys(rest int, tooMany Error) [][]byte {
	n := s.IntOr(ErrNumKeysZero)
	switch {
	case n < 1:
		s.Fail(ErrNumKeysZero)
	case n > int64(s.Left()-rest):
		s.Fail(tooMany)
	}
	return s.Take(int(n))
}

// Int reads a 64-bit integer.
func (s *Scanner) Int() int64 { return s.IntOr(ErrNotInteger) }

// IntOr reads a 64-bit integer and fails with err if it is none.
func (s *Scanner) IntOr(err Error) int64 {
	b := s.Bytes()
	if s.err != nil {
		return 0
	}
	n, ok := decimal.ParseInt(b)
	if !ok {
		s.Fail(err)
		return 0
	}
	return n
}

// IntRange reads an integer between least and most, both allowed.
func (s *Scanner) IntRange(least, most int64) int64 {
	n := s.Int()
	if s.err == nil && (n < least || n > most) {
		s.Fail(ErrIntRange(least, most))
		return 0
	}
	return n
}

// Uint reads an integer that is 0 or more.
func (s *Scanner) Uint() int64 {
	n := s.IntOr(ErrNotPositive)
	if s.err == nil && n < 0 {
		s.Fail(ErrNotPositive)
		return 0
	}
	return n
}

// Float reads a floating point number.
func (s *Scanner) Float() float64 { return s.FloatOr(ErrNotFloat) }

// FloatOr reads a floating point number and fails with err if it is none.
func (s *Scanner) FloatOr(err Error) float64 {
	b := s.Bytes()
	if s.err != nil {
		return 0
	}
	f, ok := resp.ParseFloat(b)
	if !ok {
		s.Fail(err)
		return 0
	}
	return f
}

// Option reads a word that the row declares and returns it in upper case. Anything else is a syntax error.
func (s *Scanner) Option() string {
	w := s.MaybeOption()
	if w == "" {
		s.Syntax()
	}
	return w
}

// MaybeOption is Option for places where something else may stand: then it reads nothing and returns "".
func (s *Scanner) MaybeOption() string {
	if !s.More() {
		return ""
	}
	arg := s.args[s.next]
	for _, w := range s.row.words {
		if len(w) == len(arg) && ascii.EqualFold(arg, w) {
			s.next++
			return w
		}
	}
	return ""
}

// IsNext reads the next argument if it is word, in any case, and reports whether it was.
func (s *Scanner) IsNext(word string) bool {
	if !s.More() || !ascii.EqualFold(s.args[s.next], word) {
		return false
	}
	s.next++
	return true
}

// Choose stores word in dst. It is a syntax error if dst already has another word: words that share a dst
// exclude each other. The same word twice is allowed, as in Redis.
func Choose(s *Scanner, dst *string, word string) {
	if *dst != "" && *dst != word {
		s.Syntax()
		return
	}
	*dst = word
}

// Syntax latches the syntax error.
func (s *Scanner) Syntax() { s.Fail(ErrSyntax) }

// Arity latches the error for a wrong number of arguments, for commands that need a check beyond their arity.
func (s *Scanner) Arity() {
	if s.err == nil {
		s.err = ErrArity(s.row.fullName)
	}
}

// Fail latches err, unless something went wrong before.
func (s *Scanner) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Err is the first error, or nil.
func (s *Scanner) Err() error { return s.err }
