package config

import (
	"io/fs"
	"math/bits"
	"strconv"
	"strings"
)

// kind is one type of value: how it is read, shown and written. The reasons that set returns are complete
// sentences for users. A failed set may leave its field half changed, so callers work on a copy.
type kind interface {
	// set reads the arguments of one line. A kind that is not a list gets exactly one argument.
	set(c *Config, args []string, again bool) error
	// get returns the value as CONFIG GET shows it.
	get(c *Config) string
	// lines returns the value as a file states it, without the directive's name: one entry for each line. def
	// holds the defaults, for kinds that write only the differences.
	lines(c, def *Config) []string
	// shape returns how many words and lines form the value.
	shape() shape
}

// shape is the form of a value in a file.
type shape uint8

const (
	oneWord    shape = iota
	wordList         // several words on one line; CONFIG SET takes them as one argument
	lineByLine       // a word list that consists of several lines
)

// number is a type of fields with whole numbers.
type number interface{ ~int | ~int64 }

type integerKind[T number] struct {
	min, max int64
	scale    int64 // the value of the field for one unit of the directive
	field    func(*Config) *T
}

// integer is a whole number in a range.
func integer[T number](min, max int64, field func(*Config) *T) kind {
	return integerKind[T]{min, max, 1, field}
}

// seconds is a whole number of seconds, kept in milliseconds.
func seconds(min, max int64, field func(*Config) *int64) kind {
	return integerKind[int64]{min, max, 1000, field}
}

func (k integerKind[T]) set(c *Config, args []string, _ bool) error {
	v, ok := parseInteger(args[0])
	if !ok {
		return errNotInteger
	}
	// The second test matters where int has 32 bits.
	if v < k.min || v > k.max || int64(T(v)) != v {
		return errRange(k.min, k.max)
	}
	*k.field(c) = T(v * k.scale)
	return nil
}

func (k integerKind[T]) get(c *Config) string {
	return strconv.FormatInt(int64(*k.field(c))/k.scale, 10)
}
func (k integerKind[T]) lines(c, _ *Config) []string { return []string{k.get(c)} }
func (k integerKind[T]) shape() shape                { return oneWord }

// parseInteger is as strict as Redis: no blanks, no '+', no leading zeros, no "-0".
func parseInteger(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == s
}

type clampedKind struct {
	kind
	min, max int64
}

// clamped takes any number that inner takes and silently moves it into a range, as Redis does with hz.
func clamped(min, max int64, inner kind) kind { return clampedKind{inner, min, max} }

func (k clampedKind) set(c *Config, args []string, again bool) error {
	if err := k.kind.set(c, args, again); err != nil {
		return err
	}
	v, _ := parseInteger(args[0])
	return k.kind.set(c, []string{strconv.FormatInt(min(max(v, k.min), k.max), 10)}, again)
}

type memoryKind struct {
	min, max int64
	field    func(*Config) *int64
}

// memory is a size: a number of bytes with an optional unit (b, k, kb, m, mb, g,
// gb; "k" is 1000 and "kb" 1024).
func memory(min, max int64, field func(*Config) *int64) kind { return memoryKind{min, max, field} }

func (k memoryKind) set(c *Config, args []string, _ bool) error {
	v, ok := ParseMemory(args[0])
	if !ok {
		return errNotMemory
	}
	if v > uint64(k.max) || int64(v) < k.min {
		return errRange(k.min, k.max)
	}
	*k.field(c) = int64(v)
	return nil
}

func (k memoryKind) get(c *Config) string { return strconv.FormatInt(*k.field(c), 10) }
func (k memoryKind) lines(c, _ *Config) []string {
	return []string{formatMemory(*k.field(c))}
}
func (k memoryKind) shape() shape { return oneWord }

// Share is a size in bytes. A negative value is a percentage of another size.
type Share int64

// Of returns the size in bytes. whole is the size that a percentage refers to.
func (s Share) Of(whole int64) int64 {
	if s >= 0 {
		return int64(s)
	}
	return int64(float64(whole) * float64(-s) / 100)
}

// shareKind is a size like memory, or a whole number of percent: "5%".
type shareKind struct{ field func(*Config) *Share }

func (k shareKind) set(c *Config, args []string, _ bool) error {
	if v, ok := ParseMemory(args[0]); ok && v <= maxInt64 {
		*k.field(c) = Share(v)
		return nil
	}
	text, ok := strings.CutSuffix(args[0], "%")
	v, whole := parseInteger(text)
	switch {
	case !ok || !whole || v < 0:
		return errNotShare
	case v > 100:
		return errAbove100
	}
	*k.field(c) = Share(-v)
	return nil
}

func (k shareKind) get(c *Config) string {
	if v := *k.field(c); v < 0 {
		return strconv.FormatInt(int64(-v), 10) + "%"
	}
	return strconv.FormatInt(int64(*k.field(c)), 10)
}

func (k shareKind) lines(c, _ *Config) []string {
	if v := *k.field(c); v >= 0 {
		return []string{formatMemory(int64(v))}
	}
	return []string{k.get(c)}
}

func (k shareKind) shape() shape { return oneWord }

// memoryUnits are the suffixes of a size, lower case.
var memoryUnits = map[string]uint64{
	"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1000 * 1000, "mb": 1 << 20, "g": 1000 * 1000 * 1000, "gb": 1 << 30,
}

// ParseMemory reads a size. As in Redis, a missing number is zero. A size beyond 64 bits wraps around in
// Redis. Here it becomes the greatest size, so that the range check refuses it.
func ParseMemory(s string) (bytes uint64, ok bool) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	unit, ok := memoryUnits[strings.ToLower(s[digits:])]
	if !ok {
		return 0, false
	}
	if digits == 0 {
		return 0, true
	}
	n, err := strconv.ParseUint(s[:digits], 10, 64)
	high, low := bits.Mul64(n, unit)
	if err != nil || high != 0 {
		return 1<<64 - 1, true
	}
	return low, true
}

// formatMemory writes a size with the greatest unit that divides it.
func formatMemory(bytes int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "gb"}, {1 << 20, "mb"}, {1 << 10, "kb"}} {
		if bytes != 0 && bytes%u.size == 0 {
			return strconv.FormatInt(bytes/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(bytes, 10)
}

type boolKind struct{ field func(*Config) *bool }

// boolean is yes or no, in any case.
func boolean(field func(*Config) *bool) kind { return boolKind{field} }

func (k boolKind) set(c *Config, args []string, _ bool) error {
	switch strings.ToLower(args[0]) {
	case "yes":
		*k.field(c) = true
	case "no":
		*k.field(c) = false
	default:
		return errNotBool
	}
	return nil
}

func (k boolKind) get(c *Config) string {
	if *k.field(c) {
		return "yes"
	}
	return "no"
}
func (k boolKind) lines(c, _ *Config) []string { return []string{k.get(c)} }
func (k boolKind) shape() shape                { return oneWord }
func (k boolKind) choices() []string           { return []string{"yes", "no"} }

type enumKind[T ~string] struct {
	field func(*Config) *T
	words []T
}

// enum is one of the given words, in any case.
func enum[T ~string](field func(*Config) *T, words ...T) kind { return enumKind[T]{field, words} }

// access is an enum of no, yes and local.
func access(field func(*Config) *Access) kind { return enum(field, AccessNo, AccessYes, AccessLocal) }

func (k enumKind[T]) set(c *Config, args []string, _ bool) error {
	for _, w := range k.words {
		if strings.EqualFold(string(w), args[0]) {
			*k.field(c) = w
			return nil
		}
	}
	return errNoneOf(k.words)
}
func (k enumKind[T]) get(c *Config) string        { return string(*k.field(c)) }
func (k enumKind[T]) lines(c, _ *Config) []string { return []string{k.get(c)} }
func (k enumKind[T]) shape() shape                { return oneWord }

func (k enumKind[T]) choices() []string {
	var list []string
	for _, w := range k.words {
		list = append(list, string(w))
	}
	return list
}

type textKind struct {
	field func(*Config) *string
	check func(string) error // nil: every text is allowed
}

// text is any string.
func text(field func(*Config) *string) kind { return textKind{field, nil} }

func (k textKind) set(c *Config, args []string, _ bool) error {
	if k.check != nil {
		if err := k.check(args[0]); err != nil {
			return err
		}
	}
	*k.field(c) = args[0]
	return nil
}
func (k textKind) get(c *Config) string        { return *k.field(c) }
func (k textKind) lines(c, _ *Config) []string { return []string{quote(k.get(c))} }
func (k textKind) shape() shape                { return oneWord }

// octal is the permissions of the unix socket.
type octal struct{}

func (octal) set(c *Config, args []string, _ bool) error {
	v, err := strconv.ParseInt(args[0], 8, 64)
	if err != nil {
		return errNotOctal
	}
	if v < 0 || v > 0o777 {
		return errOctalRange
	}
	c.UnixSocketPerm = fs.FileMode(v)
	return nil
}
func (octal) get(c *Config) string          { return strconv.FormatInt(int64(c.UnixSocketPerm), 8) }
func (k octal) lines(c, _ *Config) []string { return []string{k.get(c)} }
func (octal) shape() shape                  { return oneWord }
