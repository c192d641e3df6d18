package commands

// KeyRows returns the rows of the commands on keys of any type.
func KeyRows() []Row {
	var rows []Row
	for _, part := range [][]Row{presenceRows(), expireRows(), ttlRows(), scanRows(), renameRows()} {
		rows = append(rows, part...)
	}
	return append(rows, objectRow())
}

// presenceRows returns the rows of the commands that look for keys or remove them.
func presenceRows() []Row {
	tips := []string{"request_policy:multi_shard", "response_policy:agg_sum"}
	return []Row{
		{Name: "del", Group: Generic, Since: "1.0.0", Flags: Write, Run: del,
			Summary: "Removes keys and counts those that there were.", Complexity: "O(N) for N keys",
			Tips: tips, Args: []Arg{Key("key", RM|Delete).Many()}},

		{Name: "unlink", Group: Generic, Since: "4.0.0", Flags: Write | Fast, Run: unlink,
			Summary: "Removes keys and counts those that there were, as DEL does.", Complexity: "O(N) for N keys",
			Tips: tips, Args: []Arg{Key("key", RM|Delete).Many()}},

		{Name: "exists", Group: Generic, Since: "1.0.0", Flags: ReadOnly | Fast, Run: exists,
			Summary: "Counts which of the keys exist; one named twice counts twice.", Complexity: "O(N) for N keys",
			Tips: tips, Args: []Arg{Key("key", RO).Many()}},

		{Name: "touch", Group: Generic, Since: "3.2.1", Flags: ReadOnly | Fast, Run: touch,
			Summary: "Marks keys as used just now and counts those that exist.", Complexity: "O(N) for N keys",
			Tips: tips, Args: []Arg{Key("key", RO).Many()}},

		{Name: "type", Group: Generic, Since: "1.0.0", Flags: ReadOnly | Fast, Run: typeOf,
			Summary: "Names the type of the value at a key.", Complexity: "O(1)",
			Args: []Arg{Key("key", RO)}},
	}
}

// expireRows returns the rows of the commands that set or remove deadlines.
func expireRows() []Row {
	cond := Opt(OneOf("condition", Flag("NX"), Flag("XX"), Flag("GT"), Flag("LT"))).From("7.0.0")
	return []Row{
		{Name: "expire", Group: Generic, Since: "1.0.0", Flags: Write | Fast, Run: expire,
			Summary: "Lets a key die after some seconds.", Complexity: "O(log N) for N keys with a deadline",
			Args: []Arg{Key("key", RW|Update), Int("seconds"), cond}},

		{Name: "pexpire", Group: Generic, Since: "2.6.0", Flags: Write | Fast, Run: pexpire,
			Summary: "Lets a key die after some milliseconds.", Complexity: "O(log N) for N keys with a deadline",
			Args: []Arg{Key("key", RW|Update), Int("milliseconds"), cond}},

		{Name: "expireat", Group: Generic, Since: "1.2.0", Flags: Write | Fast, Run: expireat,
			Summary: "Lets a key die at a time in seconds.", Complexity: "O(log N) for N keys with a deadline",
			Args: []Arg{Key("key", RW|Update), UnixTime("unix-time-seconds"), cond}},

		{Name: "pexpireat", Group: Generic, Since: "2.6.0", Flags: Write | Fast, Run: pexpireat,
			Summary: "Lets a key die at a time in milliseconds.", Complexity: "O(log N) for N keys with a deadline",
			Args: []Arg{Key("key", RW|Update), UnixTime("unix-time-milliseconds"), cond}},

		{Name: "persist", Group: Generic, Since: "2.2.0", Flags: Write | Fast, Run: persist,
			Summary: "Takes a key's deadline away.", Complexity: "O(log N) for N keys with a deadline",
			Args: []Arg{Key("key", RW|Update)}},
	}
}

// ttlRows returns the rows of the commands that read deadlines.
func ttlRows() []Row {
	return []Row{
		{Name: "ttl", Group: Generic, Since: "1.0.0", Flags: ReadOnly | Fast, Run: ttl,
			Summary: "Says how many seconds a key has left.", Complexity: "O(1)",
			Tips: []string{"nondeterministic_output"}, Args: []Arg{Key("key", RO|Access)}},

		{Name: "pttl", Group: Generic, Since: "2.6.0", Flags: ReadOnly | Fast, Run: pttl,
			Summary: "Says how many milliseconds a key has left.", Complexity: "O(1)",
			Tips: []string{"nondeterministic_output"}, Args: []Arg{Key("key", RO|Access)}},

		{Name: "expiretime", Group: Generic, Since: "7.0.0", Flags: ReadOnly | Fast, Run: expiretime,
			Summary: "Says when a key dies, in seconds since 1970.", Complexity: "O(1)",
			Args: []Arg{Key("key", RO|Access)}},

		{Name: "pexpiretime", Group: Generic, Since: "7.0.0", Flags: ReadOnly | Fast, Run: pexpiretime,
			Summary: "Says when a key dies, in milliseconds since 1970.", Complexity: "O(1)",
			Args: []Arg{Key("key", RO|Access)}},
	}
}

// scanRows returns the rows of the commands that list keys.
func scanRows() []Row {
	return []Row{
		{Name: "keys", Group: Generic, Since: "1.0.0", Flags: ReadOnly, Cats: CatDangerous, Run: keys,
			Summary: "Lists all keys that match a pattern.", Complexity: "O(N) for N keys in the database",
			Tips: []string{"request_policy:all_shards", "nondeterministic_output_order"},
			Args: []Arg{Pattern("pattern")}},

		{Name: "scan", Group: Generic, Since: "2.8.0", Flags: ReadOnly, Run: scan,
			Summary: "Lists the keys of a database bit by bit.", Complexity: "O(1) a call, O(N) for all N keys",
			Tips: []string{"nondeterministic_output", "request_policy:special", "response_policy:special"},
			Args: []Arg{Int("cursor"), Opt(Pattern("pattern").After("MATCH")), Opt(Int("count").After("COUNT")),
				Opt(Str("type").After("TYPE")).From("6.0.0")}},

		{Name: "randomkey", Group: Generic, Since: "1.0.0", Flags: ReadOnly, Run: randomkey,
			Summary: "Picks a key by chance.", Complexity: "O(1)",
			Tips: []string{"request_policy:all_shards", "response_policy:special", "nondeterministic_output"}},
	}
}

// renameRows returns the rows of the commands that put a value at another key.
func renameRows() []Row {
	return []Row{
		{Name: "rename", Group: Generic, Since: "1.0.0", Flags: Write, Run: rename,
			Summary: "Gives a key another name, in place of what has that name.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Delete), Key("newkey", OW|Update)}},

		{Name: "renamenx", Group: Generic, Since: "1.0.0", Flags: Write | Fast, Run: renamenx,
			Summary: "Gives a key another name, if nothing has that name.", Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Delete), Key("newkey", OW|Insert)}},

		{Name: "move", Group: Generic, Since: "1.0.0", Flags: Write | Fast, Run: move,
			Summary: "Moves a key to another database, if it is not there yet.", Complexity: "O(1)",
			Args:      []Arg{Key("key", RW|Access|Update), Int("db")},
			Databases: Databases{Named: func(_ [][]byte, dst []int) []int { return append(dst, 2) }}},

		{Name: "copy", Group: Generic, Since: "6.2.0", Flags: Write | DenyOOM, Run: copyKey,
			Summary:    "Puts a copy of a key's value, with its deadline, at another key.",
			Complexity: "O(N) for N elements, O(1) for a string",
			Args: []Arg{Key("source", RO|Access), Key("destination", OW|Update),
				Opt(Int("destination-db").After("DB")), Opt(Flag("REPLACE"))},
			Databases: Databases{Named: copyDBs}},
	}
}

func objectRow() Row {
	tips := []string{"nondeterministic_output"}
	return Row{Name: "object", Group: Generic, Since: "2.2.3", HelpSince: "6.2.0",
		Summary: "Tells how a value is kept.", Complexity: "O(1)",
		Sub: []Row{
			{Name: "encoding", Group: Generic, Since: "2.2.3", Flags: ReadOnly, Run: objectEncoding,
				Summary: "Names the form in which a value is kept.", Complexity: "O(1)",
				Tips: tips, Args: []Arg{Key("key", RO)}},
			{Name: "freq", Group: Generic, Since: "4.0.0", Flags: ReadOnly, Run: objectFreq,
				Summary: "Says how often a key is used, under an eviction policy that counts it.", Complexity: "O(1)",
				Tips: tips, Args: []Arg{Key("key", RO)}},
			{Name: "idletime", Group: Generic, Since: "2.2.3", Flags: ReadOnly, Run: objectIdletime,
				Summary: "Says how many seconds ago a key was last used.", Complexity: "O(1)",
				Tips: tips, Args: []Arg{Key("key", RO)}},
			{Name: "refcount", Group: Generic, Since: "2.2.3", Flags: ReadOnly, Run: objectRefcount,
				Summary: "Says how many owners a value has.", Complexity: "O(1)",
				Tips: tips, Args: []Arg{Key("key", RO)}},
		}}
}
