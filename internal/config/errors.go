package config

import (
	"errors"
	"fmt"
	"strings"
)

// The reasons for which a value is refused. Clients see them after CONFIG SET's prefix, and users after a
// line of their file. If Redis has the same case, the words are those of Redis.
var (
	errArgCount     = errors.New("wrong number of arguments")
	errNotBool      = errors.New("argument must be 'yes' or 'no'")
	errNotInteger   = errors.New("argument couldn't be parsed into an integer")
	errNotOctal     = errors.New("argument couldn't be parsed as an octal number")
	errOctalRange   = errors.New("argument must be between 0 and 777 inclusive")
	errNotMemory    = errors.New("argument must be a memory value")
	errNotShare     = errors.New("argument must be a memory or percent value")
	errAbove100     = errors.New("percentage argument must be less or equal to 100")
	errSavePoints   = errors.New("Invalid save parameters")
	errBindCount    = errors.New("Too many bind addresses specified.")
	errPercentile   = errors.New("Invalid latency-tracking-info-percentiles parameters")
	errPercentiles  = errors.New("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
	errLimitCount   = errors.New("Wrong number of arguments in buffer limit configuration.")
	errLimitClass   = errors.New("Invalid client class specified in buffer limit configuration.")
	errLimitValue   = errors.New("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
	errSaveNoSave   = errors.New("shutdown options SAVE and NOSAVE can't be used simultaneously")
	errImmutable    = errors.New("can't set immutable config")
	errProtected    = errors.New("can't set protected config")
	errDuplicate    = errors.New("duplicate parameter")
	errUnbalanced   = errors.New("Unbalanced quotes in configuration line")
	errIncludeDepth = errors.New("includes are nested too deeply; does a file include itself?")
)

func errRange(min, max int64) error {
	return fmt.Errorf("argument must be between %d and %d inclusive", min, max)
}

func errNoneOf[T ~string](words []T) error {
	var b strings.Builder
	b.WriteString("argument(s) must be one of the following: ")
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return errors.New(b.String())
}

// LineError names the refused line of a file, or the refused option of the command line, and the reason.
type LineError struct {
	File   string // the file's name; "standard input"; empty for the command line
	Line   int    // counted from 1; 0 on the command line
	Text   string // the line, trimmed, without a secret
	Reason string
}

// Error returns three lines: the position, the text, the reason.
func (e *LineError) Error() string {
	where := "Reading the command line"
	if e.Line > 0 {
		where = fmt.Sprintf("Reading the configuration file, at line %d of %s", e.Line, e.File)
	}
	return fmt.Sprintf("%s\n>>> '%s'\n%s", where, e.Text, e.Reason)
}

// UnknownError is CONFIG SET's refusal of a name that is not in the table.
type UnknownError struct{ Name string }

// Error returns the whole reply, in the words of Redis.
func (e *UnknownError) Error() string {
	return "ERR Unknown option or number of arguments for CONFIG SET - '" + e.Name + "'"
}

// SetError is CONFIG SET's refusal of a value. The server makes a SetError itself when the value is valid but
// cannot be applied (a directory that does not exist, more clients than the process may have files).
type SetError struct {
	Name   string // the directive, by the name that was used
	Reason string
}

// Error returns the whole reply, in the words of Redis.
func (e *SetError) Error() string {
	return "ERR CONFIG SET failed (possibly related to argument '" + e.Name + "') - " + e.Reason
}
