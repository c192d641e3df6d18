package commands

import (
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
)

// Scanner reads the arguments of one call from left to right. It keeps the first error. After an error every
// method returns its zero value and More returns false, so that a handler reads all it needs and checks Err
// once. Reading past the end is a syntax error. It does not allocate, except for Fail's argument and String.
type Scanner struct {
	row  *Row
	args [][]byte
	next int
	err  error
}

// Args returns the scanner of this call, placed after the names of command and subcommand. Each call of Args
// starts again; a context has one scanner.
func (c *Ctx) Args() *Scanner {
	c.scanner = NewScanner(c.Row, c.Argv)
	return &c.scanner
}

// NewScanner returns a scanner of the arguments in argv, which begins with the name of the row's command.
func NewScanner(row *Row, argv [][]byte) Scanner {
	return Scanner{row: row, args: argv, next: row.nameWords()}
}

// More reports whether arguments are left and no error occurred.
func (s *Scanner) More() bool { return s.err == nil && s.next < len(s.args) }

// Left returns the number of arguments that are left, or 0 after an error.
func (s *Scanner) Left() int {
	if s.err != nil {
		return 0
	}
	return len(s.args) - s.next
}

// Bytes reads an argument. The bytes belong to the client: they are valid during the call and must not be
// changed.
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

// String reads an argument and returns a copy.
func (s *Scanner) String() string { return string(s.Bytes()) }

// Peek returns the next argument without reading it, or nil at the end or after an error.
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

// Take reads n arguments. It is a syntax error if fewer are left.
func (s *Scanner) Take(n int) [][]byte {
	if n < 0 || n > s.Left() {
		s.Syntax()
		return nil
	}
	s.next += n
	return s.args[s.next-n : s.next]
}

// CountedKeys reads numkeys, at least 1, and that number of keys. It reports tooMany if fewer than rest words
// would be left after them.
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

// IntOr reads a 64-bit integer, and reports err if the argument is no integer.
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

// IntRange reads an integer from least to most.
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

// FloatOr reads a floating point number, and reports err if the argument is no number.
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

// Option reads a word that the row declares and returns it in upper case. Any other word is a syntax error.
func (s *Scanner) Option() string {
	w := s.MaybeOption()
	if w == "" {
		s.Syntax()
	}
	return w
}

// MaybeOption is Option for places where another word is allowed: then it reads nothing and returns "".
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

// IsNext reads the next argument if it equals word in any case, and reports whether it did.
func (s *Scanner) IsNext(word string) bool {
	if !s.More() || !ascii.EqualFold(s.args[s.next], word) {
		return false
	}
	s.next++
	return true
}

// Choose stores word in dst. It is a syntax error if dst already has another word, so words with the same dst
// exclude each other. The same word twice is allowed, as in Redis.
func Choose(s *Scanner, dst *string, word string) {
	if *dst != "" && *dst != word {
		s.Syntax()
		return
	}
	*dst = word
}

// Syntax reports the syntax error.
func (s *Scanner) Syntax() { s.Fail(ErrSyntax) }

// Arity reports a wrong number of arguments. It is for commands that check more than their arity.
func (s *Scanner) Arity() {
	if s.err == nil {
		s.err = ErrArity(s.row.fullName)
	}
}

// Fail keeps err, unless there already is an error.
func (s *Scanner) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Err returns the first error, or nil.
func (s *Scanner) Err() error { return s.err }
