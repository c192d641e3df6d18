package resp

import "slices"

// inline reads a command typed as a line of words, which ends with LF or CR LF. A blank line is an empty
// command.
func (d *Decoder) inline(p *partial, b []byte, args [][]byte) ([][]byte, int, error) {
	end, err := d.lineEnd(p, b, '\n', ErrInlineTooBig)
	if end < 0 || err != nil {
		return args, 0, err
	}
	line := b[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	before := len(args)
	args, ok := SplitWords(args, line)
	switch {
	case !ok:
		return args, 0, ErrUnbalancedQuotes
	case d.unauth && len(args)-before > unauthMaxArgs:
		return args, 0, ErrUnauthMultibulk // D120: 16 KB of short words take many times that memory
	}
	return args, end + 1, nil
}

// SplitWords appends the words of a line to words, by the rules that Redis has for inline commands and for
// its configuration file. Words are separated by white space. "..." knows \n \r \t \a \b, \xHH and a
// backslash before any other byte for that byte; '...' knows only \'. A quote may open within a word, and the
// closing quote also ends the word. SplitWords returns false when a quote stays open or is closed before
// anything but white space.
//
// Words without quotes are views into line, the others are copies.
func SplitWords(words [][]byte, line []byte) ([][]byte, bool) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return words, true
		}
		start := i
		for i < len(line) && !endsPlainWord(line[i]) && line[i] != '"' && line[i] != '\'' {
			i++
		}
		word := line[start:i:i]
		if i < len(line) && !endsPlainWord(line[i]) {
			var ok bool
			if word, i, ok = quoted(slices.Clone(word), line, i); !ok {
				return words, false
			}
		}
		words = append(words, word)
	}
}

// quoted appends the string with the opening quote line[i] to word, and returns the offset behind the closing
// quote.
func quoted(word, line []byte, i int) ([]byte, int, bool) {
	quote := line[i]
	for i++; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			closed := i+1 == len(line) || isSpace(line[i+1])
			return word, i + 1, closed
		case c != '\\' || i+1 == len(line):
			word = append(word, c)
		case quote == '"':
			n, c := unescape(line[i+1:])
			word = append(word, c)
			i += n
		case line[i+1] == '\'':
			word = append(word, '\'')
			i++
		default:
			word = append(word, c)
		}
	}
	return word, i, false
}

// unescape reads an escape within double quotes. It returns the number of bytes it took, and the byte that it
// means.
func unescape(b []byte) (int, byte) {
	switch b[0] {
	case 'n':
		return 1, '\n'
	case 'r':
		return 1, '\r'
	case 't':
		return 1, '\t'
	case 'a':
		return 1, '\a'
	case 'b':
		return 1, '\b'
	case 'x':
		if len(b) > 2 && hexDigit(b[1]) >= 0 && hexDigit(b[2]) >= 0 {
			return 3, byte(hexDigit(b[1])<<4 | hexDigit(b[2]))
		}
	}
	return 1, b[0]
}

// isSpace is C's isspace: the bytes that may stand before a word and after a closing quote.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// endsPlainWord accepts fewer bytes than isSpace: vertical tabs and form feeds may be part of a word.
func endsPlainWord(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// hexDigit returns the value of a hexadecimal digit, -1 for any other byte.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
