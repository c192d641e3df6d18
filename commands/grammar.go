package commands

import "strings"

// Arg is one element of a command's grammar. The functions and methods of this file build it; they take and
// return values, so a row reads like the usage line of its command.
type Arg struct {
	// Name is the name of the argument in the documentation.
	Name string
	// Display is the name in usage lines, if it differs from Name.
	Display string
	// Token is the word in upper case that precedes the argument. A pure token consists of this word alone.
	Token string
	// Since is the version that added this argument to its command. It is empty if the command always had the
	// argument.
	Since string
	// Deprecated is the version that deprecated the argument, or empty.
	Deprecated string
	Kind       ArgKind
	// Access says how a key is used. For a pattern it means that the command makes names of keys from it. For
	// a string it is NotKey: see Channel and Routed.
	Access   KeyFlags
	Optional bool
	// Multiple means that the argument may be repeated. With MultipleToken its token is repeated, too.
	Multiple, MultipleToken bool
	// Args holds the alternatives of a OneOf, or the sequence of a Block.
	Args []Arg

	noToken bool // a pure token that is the empty word
	fromEnd bool // set by FromEnd
	keySpec int  // derived: index into the row's key specs plus 1, or 0
}

// ArgKind is the type of an argument.
type ArgKind uint8

// The kinds of arguments, named as COMMAND DOCS names them.
const (
	KindString ArgKind = iota
	KindInteger
	KindDouble
	KindKey
	KindPattern
	KindUnixTime
	KindPureToken
	KindOneOf
	KindBlock
)

var kindNames = [...]string{
	"string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof", "block",
}

// String returns the kind's name in COMMAND DOCS.
func (k ArgKind) String() string { return kindNames[k] }

// isLeaf reports whether an argument of the kind is a word, and does not consist of other arguments.
func (k ArgKind) isLeaf() bool { return k < KindOneOf }

// KeyFlags say how a command uses a key. A key has exactly one of RO, RW, OW and RM. An argument that is no
// key does not have these flags.
type KeyFlags uint16

// The uses of a key, in the order in which Redis prints them.
const (
	RO            KeyFlags = 1 << iota // the value is only read
	RW                                 // the value is changed in place
	OW                                 // the value is overwritten, without regard to the old one
	RM                                 // the key is removed
	Access                             // user data of the value is returned, copied or used
	Update                             // user data of the value is changed
	Insert                             // user data is added, none is removed
	Delete                             // user data is removed
	NotKey                             // not a key, but routed like a key (a sharded channel, a voucher)
	Incomplete                         // this spec may miss keys of the call
	VariableFlags                      // the use depends on other arguments: see Row.FindKeys
	unknownPlace                       // set by Anywhere
	// Unused marks an implied key that the call does not touch, because it fails with the present data. The
	// client must still be allowed to use the key.
	Unused
)

var keyFlagNames = [...]string{
	"RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "incomplete", "variable_flags",
}

// Names returns the flags as COMMAND INFO prints them.
func (f KeyFlags) Names() []string {
	var names []string
	for i, n := range keyFlagNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// Key is a key and its use: Key("key", RW|Access|Update).
func Key(name string, access KeyFlags) Arg { return Arg{Name: name, Kind: KindKey, Access: access} }

// Str is a binary-safe string.
func Str(name string) Arg { return Arg{Name: name, Kind: KindString} }

// Routed is a name from which the command derives names of keys (Row.Implied). It is routed to a shard as a
// key is.
func Routed(name string) Arg { return Arg{Name: name, Kind: KindString, Access: NotKey} }

// Channel is the name of a channel that is routed to a shard as a key is.
func Channel(name string) Arg { return Arg{Name: name, Kind: KindString, Access: NotKey} }

// Int is a 64-bit integer. If it is called "numkeys", it counts the keys of the next argument:
// Key(...).Many(), or Block(...).Many() that begins with a key.
func Int(name string) Arg { return Arg{Name: name, Kind: KindInteger} }

// Double is a floating point number.
func Double(name string) Arg { return Arg{Name: name, Kind: KindDouble} }

// Pattern is a glob pattern.
func Pattern(name string) Arg { return Arg{Name: name, Kind: KindPattern} }

// UnixTime is a point in time, in seconds or milliseconds since 1970.
func UnixTime(name string) Arg { return Arg{Name: name, Kind: KindUnixTime} }

// Flag is a word without a value. The documentation calls it by the word in lower case; Named changes that.
func Flag(word string) Arg {
	return Arg{Name: strings.ToLower(word), Token: word, Kind: KindPureToken, noToken: word == ""}
}

// OneOf takes exactly one of its alternatives.
func OneOf(name string, alternatives ...Arg) Arg {
	return Arg{Name: name, Kind: KindOneOf, Args: alternatives}
}

// Block takes its arguments in this order.
func Block(name string, args ...Arg) Arg { return Arg{Name: name, Kind: KindBlock, Args: args} }

// Opt makes an argument optional, together with its token.
func Opt(a Arg) Arg {
	a.Optional = true
	return a
}

// After puts a word before the argument: Int("milliseconds").After("PX").
func (a Arg) After(token string) Arg {
	a.Token = token
	return a
}

// Many lets the argument be repeated. Its token is written once, before the first.
func (a Arg) Many() Arg {
	a.Multiple = true
	return a
}

// ManyTokens lets the argument be repeated together with its token.
func (a Arg) ManyTokens() Arg {
	a.Multiple, a.MultipleToken = true, true
	return a
}

// Named gives the argument another name than that of its word: Flag("CH").Named("change").
func (a Arg) Named(name string) Arg {
	a.Name = name
	return a
}

// Shown gives the argument another name in usage lines: Pattern("by-pattern").Shown("pattern").
func (a Arg) Shown(display string) Arg {
	a.Display = display
	return a
}

// From sets the version that added the argument.
func (a Arg) From(version string) Arg {
	a.Since = version
	return a
}

// Until sets the version that deprecated the argument.
func (a Arg) Until(version string) Arg {
	a.Deprecated = version
	return a
}

// Anywhere says that the key can be at any place after its token, as in SORT ... STORE key. No key
// specification can find it, so the row needs FindKeys.
func (a Arg) Anywhere() Arg {
	a.Access |= unknownPlace
	return a
}

// FromEnd says that the token before the key is searched from the end of the call, as in MIGRATE ... KEYS
// key. A key may have the same text as the token, so the row needs FindKeys.
func (a Arg) FromEnd() Arg {
	a.fromEnd = true
	return a
}

// NamesKeys says that the command makes names of keys from the pattern, as in SORT ... BY pattern.
func (a Arg) NamesKeys(access KeyFlags) Arg {
	a.Access = access | unknownPlace
	return a
}

// usageName returns the name of the argument in usage lines.
func (a *Arg) usageName() string {
	if a.Display != "" {
		return a.Display
	}
	return a.Name
}

// span returns the least number of words that the argument takes, and whether it always takes that number.
func (a *Arg) span() (least int, exact bool) {
	least, exact = a.once()
	if a.Multiple {
		exact = false
	}
	if a.Optional {
		return 0, false
	}
	return least, exact
}

// once returns the span of one occurrence with its token.
func (a *Arg) once() (least int, exact bool) {
	switch a.Kind {
	case KindPureToken:
		return 1, true
	case KindOneOf:
		least, exact = a.Args[0].span()
		for i := range a.Args[1:] {
			n, same := a.Args[i+1].span()
			exact = exact && same && n == least
			least = min(least, n)
		}
	case KindBlock:
		least, exact = sequenceSpan(a.Args)
	default:
		least, exact = 1, true
	}
	if a.Token != "" {
		least++
	}
	return least, exact
}

// sequenceSpan returns the span of consecutive arguments.
func sequenceSpan(args []Arg) (least int, exact bool) {
	exact = true
	for i := range args {
		n, same := args[i].span()
		least += n
		exact = exact && same
	}
	return least, exact
}
