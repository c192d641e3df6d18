package commands

// StringRows returns the rows of the commands on strings, except those on bits.
func StringRows() []Row {
	var rows []Row
	for _, part := range [][]Row{stringReadRows(), stringWriteRows(), stringCompareRows(), stringEditRows(), numberRows()} {
		rows = append(rows, part...)
	}
	return rows
}

// stringReadRows returns the rows of the commands that reply a string unchanged.
func stringReadRows() []Row {
	return []Row{
		{Name: "get", Group: String, Since: "1.0.0", Flags: ReadOnly | Fast, Run: get,
			Summary: "Returns the string at a key.", Complexity: "O(1)",
			Args: []Arg{Key("key", RO|Access)}},

		{Name: "mget", Group: String, Since: "1.0.0", Flags: ReadOnly | Fast, Run: mget,
			Summary: "Returns the strings at several keys.", Complexity: "O(N) for N keys",
			Tips: []string{"request_policy:multi_shard"},
			Args: []Arg{Key("key", RO|Access).Many()}},

		{Name: "strlen", Group: String, Since: "2.2.0", Flags: ReadOnly | Fast, Run: strlen,
			Summary: "Returns the length of a string in bytes.", Complexity: "O(1)",
			Args: []Arg{Key("key", RO)}},

		{Name: "getrange", Group: String, Since: "2.4.0", Flags: ReadOnly, Run: getrange,
			Summary: "Returns a part of a string.", Complexity: "O(N) for a part of N bytes",
			Args: []Arg{Key("key", RO|Access), Int("start"), Int("end")}},

		{Name: "substr", Group: String, Since: "1.0.0", Flags: ReadOnly, Run: getrange,
			Deprecated: "2.0.0", ReplacedBy: "`GETRANGE`",
			Summary: "Returns a part of a string.", Complexity: "O(N) for a part of N bytes",
			Args: []Arg{Key("key", RO|Access), Int("start"), Int("end")}},

		{Name: "lcs", Group: String, Since: "7.0.0", Flags: ReadOnly, Run: lcs,
			Summary:    "Finds the longest common subsequence of two strings.",
			Complexity: "O(N*M) for strings of N and M bytes",
			Args: []Arg{Key("key1", RO|Access), Key("key2", RO|Access), Opt(Flag("LEN")), Opt(Flag("IDX")),
				Opt(Int("min-match-len").After("MINMATCHLEN")), Opt(Flag("WITHMATCHLEN"))}},
	}
}

// stringWriteRows returns the rows of the commands that replace a string, and of those that reply it and
// change its deadline or remove it.
func stringWriteRows() []Row {
	return []Row{
		{Name: "set", Group: String, Since: "1.0.0", Flags: Write | DenyOOM, Run: setString, FindKeys: setKeys,
			Summary:    "Puts a string at a key, whatever was there, perhaps on a condition and with a deadline.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update|VariableFlags), Str("value"),
				Opt(OneOf("condition", Flag("NX"), Flag("XX"), Str("ifeq-value").After("IFEQ").From("8.4.0"),
					Str("ifne-value").After("IFNE").From("8.4.0"), Str("ifdeq-digest").After("IFDEQ").From("8.4.0"),
					Str("ifdne-digest").After("IFDNE").From("8.4.0"))).From("2.6.12"),
				Opt(Flag("GET")).From("6.2.0"),
				Opt(OneOf("expiration", Int("seconds").After("EX").From("2.6.12"),
					Int("milliseconds").After("PX").From("2.6.12"),
					UnixTime("unix-time-seconds").After("EXAT").From("6.2.0"),
					UnixTime("unix-time-milliseconds").After("PXAT").From("6.2.0"),
					Flag("KEEPTTL").From("6.0.0")))}},

		{Name: "setnx", Group: String, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: setnx,
			Deprecated: "2.6.12", ReplacedBy: "`SET` with the `NX` argument",
			Summary: "Puts a string at a key where nothing is yet.", Complexity: "O(1)",
			Args: []Arg{Key("key", OW|Insert), Str("value")}},

		{Name: "setex", Group: String, Since: "2.0.0", Flags: Write | DenyOOM, Run: setex,
			Deprecated: "2.6.12", ReplacedBy: "`SET` with the `EX` argument",
			Summary: "Puts a string at a key for some seconds.", Complexity: "O(1)",
			Args: []Arg{Key("key", OW|Update), Int("seconds"), Str("value")}},

		{Name: "psetex", Group: String, Since: "2.6.0", Flags: Write | DenyOOM, Run: psetex,
			Deprecated: "2.6.12", ReplacedBy: "`SET` with the `PX` argument",
			Summary: "Puts a string at a key for some milliseconds.", Complexity: "O(1)",
			Args: []Arg{Key("key", OW|Update), Int("milliseconds"), Str("value")}},

		{Name: "mset", Group: String, Since: "1.0.1", Flags: Write | DenyOOM, Run: mset,
			Summary: "Puts strings at several keys at once.", Complexity: "O(N) for N keys",
			Tips: []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
			Args: []Arg{Block("data", Key("key", OW|Update), Str("value")).Many()}},

		{Name: "msetnx", Group: String, Since: "1.0.1", Flags: Write | DenyOOM, Run: msetnx,
			Summary:    "Puts strings at several keys at once, if nothing is at any of them yet.",
			Complexity: "O(N) for N keys",
			Args:       []Arg{Block("data", Key("key", OW|Insert), Str("value")).Many()}},

		{Name: "getset", Group: String, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: getset,
			Deprecated: "6.2.0", ReplacedBy: "`SET` with the `!GET` argument",
			Summary: "Puts a string at a key and returns the one that was there.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update), Str("value")}},

		{Name: "getdel", Group: String, Since: "6.2.0", Flags: Write | Fast, Run: getdel,
			Summary: "Returns the string at a key and removes the key.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Delete)}},

		{Name: "getex", Group: String, Since: "6.2.0", Flags: Write | Fast, Run: getex,
			Summary: "Returns the string at a key and changes or removes the key's deadline.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update),
				Opt(OneOf("expiration", Int("seconds").After("EX"), Int("milliseconds").After("PX"),
					UnixTime("unix-time-seconds").After("EXAT"),
					UnixTime("unix-time-milliseconds").After("PXAT"), Flag("PERSIST")))}},
	}
}

// stringCompareRows returns the rows of the commands with a condition on the value, and of MSETEX. All are
// newer than Redis 7.4.
func stringCompareRows() []Row {
	return []Row{
		{Name: "digest", Group: String, Since: "8.4.0", Flags: ReadOnly | Fast, Run: digestString,
			Summary: "Returns the XXH3 hash of a string, for IFDEQ and IFDNE.", Complexity: "O(N) for N bytes",
			Args: []Arg{Key("key", RO|Access)}},

		{Name: "delex", Group: String, Since: "8.4.0", Flags: Write | Fast, Run: delex, FindKeys: delexKeys,
			Summary:    "Removes a key, if its string or the digest of it is, or is not, the one given.",
			Complexity: "O(1) for IFEQ and IFNE, O(N) for IFDEQ and IFDNE of a string of N bytes",
			Args: []Arg{Key("key", RW|Delete|VariableFlags),
				Opt(OneOf("condition", Str("ifeq-value").After("IFEQ"), Str("ifne-value").After("IFNE"),
					Str("ifdeq-digest").After("IFDEQ"), Str("ifdne-digest").After("IFDNE")))}},

		{Name: "delifeq", Group: String, Since: "9.0.0", Flags: Write, Run: delifeq,
			Summary: "Removes a key if its string is the one given (from Valkey 9.0).", Complexity: "O(1)",
			Args: []Arg{Key("key", RM|Access|Delete), Str("value")}},

		{Name: "msetex", Group: String, Since: "8.4.0", Flags: Write | DenyOOM, Run: msetex,
			Summary:    "Puts strings at several keys at once with one deadline, perhaps if all or none of them exist.",
			Complexity: "O(N) for N keys",
			Tips:       []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
			Args: []Arg{Int("numkeys"), Block("data", Key("key", OW|Update), Str("value")).Many(),
				Opt(OneOf("condition", Flag("NX"), Flag("XX"))),
				Opt(OneOf("expiration", Int("seconds").After("EX"), Int("milliseconds").After("PX"),
					UnixTime("unix-time-seconds").After("EXAT"),
					UnixTime("unix-time-milliseconds").After("PXAT"), Flag("KEEPTTL")))}},
	}
}

// stringEditRows returns the rows of the commands that change a part of a string.
func stringEditRows() []Row {
	return []Row{
		{Name: "append", Group: String, Since: "2.0.0", Flags: Write | DenyOOM | Fast, Run: appendString,
			Summary:    "Adds to the end of a string, which begins empty.",
			Complexity: "O(1) amortized, for short additions",
			Args:       []Arg{Key("key", RW|Insert), Str("value")}},

		{Name: "setrange", Group: String, Since: "2.2.0", Flags: Write | DenyOOM, Run: setrange,
			Summary:    "Overwrites a part of a string, and fills a gap before it with zero bytes.",
			Complexity: "O(N) for N bytes written",
			Args:       []Arg{Key("key", RW|Update), Int("offset"), Str("value")}},
	}
}

// numberRows returns the rows of the commands that count.
func numberRows() []Row {
	return []Row{
		{Name: "incr", Group: String, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: incr,
			Summary: "Adds one to an integer, which begins at 0.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update)}},

		{Name: "decr", Group: String, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: decr,
			Summary: "Takes one from an integer, which begins at 0.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update)}},

		{Name: "incrby", Group: String, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: incrby,
			Summary: "Adds to an integer, which begins at 0.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update), Int("increment")}},

		{Name: "decrby", Group: String, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: decrby,
			Summary: "Takes from an integer, which begins at 0.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update), Int("decrement")}},

		{Name: "incrbyfloat", Group: String, Since: "2.6.0", Flags: Write | DenyOOM | Fast, Run: incrbyfloat,
			Summary: "Adds to a number, which begins at 0 and may have a fraction.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update), Double("increment")}},

		{Name: "increx", Group: String, Since: "8.8.0", Flags: Write | DenyOOM | Fast, Run: increx,
			Summary:    "Adds to the number at a key within bounds, and sets the key's deadline.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update),
				Opt(OneOf("increment", Double("float").After("BYFLOAT"), Int("integer").After("BYINT"))),
				Opt(Flag("SATURATE")), Opt(Str("lowerbound").After("LBOUND")), Opt(Str("upperbound").After("UBOUND")),
				Opt(OneOf("expiration", Int("seconds").After("EX"), Int("milliseconds").After("PX"),
					UnixTime("unix-time-seconds").After("EXAT"),
					UnixTime("unix-time-milliseconds").After("PXAT"), Flag("PERSIST"))),
				Opt(Flag("ENX"))}},
	}
}
