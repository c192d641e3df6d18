package client

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// ErrValue says that a call was given a value that is not allowed, such as a lease of 0 or an empty key.
// Nothing was sent.
var ErrValue = errors.New("bad value")

// bad returns the error of a value that is not allowed.
func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrValue}, args...)...)
}

// named refuses an empty name; what is the word for the value in the error, as in "a key".
func named(what, name string) error {
	if name == "" {
		return bad("%s is empty", what)
	}
	return nil
}

// atLeast refuses a number below the least one.
func atLeast(least int, what string, n int) error {
	if n < least {
		return bad("%s of %d is less than %d", what, n, least)
	}
	return nil
}

// one returns the optional last argument of a call: there may be no number, or one.
func one(what string, least, otherwise int, numbers []int) (int, error) {
	switch len(numbers) {
	case 0:
		return otherwise, nil
	case 1:
		return numbers[0], atLeast(least, what, numbers[0])
	}
	return 0, bad("%s is one number, and not %d", what, len(numbers))
}

// wholeMS returns a time in whole milliseconds. It refuses parts of a millisecond, and less than one
// millisecond.
func wholeMS(what string, d time.Duration) (int64, error) {
	if d < time.Millisecond || d%time.Millisecond != 0 {
		return 0, bad("%s of %v is not a whole number of milliseconds, one at least", what, d)
	}
	return d.Milliseconds(), nil
}

// ceilMS returns a time in milliseconds, rounded up.
func ceilMS(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// The range of times that the server knows. A time.Time may be outside the range of milliseconds in 64 bits.
var earliest, latest = time.Date(-200_000_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(37_000, 1, 1, 0, 0, 0, 0, time.UTC)

// unixMS returns a time in milliseconds since 1970; 0 for a time before 1970.
func unixMS(what string, t time.Time) (int64, error) {
	if t.Before(earliest) || t.After(latest) {
		return 0, bad("%s that is not before the year %d", what, latest.Year())
	}
	return max(0, t.UnixMilli()), nil
}

// longest is the longest time that can be added to others.
const longest = time.Duration(math.MaxInt64 / 4)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// leaseText returns the length of a lease as text.
func leaseText(lease time.Duration) string {
	if lease == 0 {
		return "renewed by the server"
	}
	return "lease of " + lease.String()
}
