package commands

// HashRows returns the rows of the commands on hashes.
func HashRows() []Row {
	rows := hashWriteRows()
	rows = append(rows, hashReadRows()...)
	rows = append(rows, hashWalkRows()...)
	return append(rows, hashExpireRows()...)
}

func hashWriteRows() []Row {
	pairs := Block("data", Str("field"), Str("value")).Many()
	return []Row{
		{Name: "hset", Group: Hash, Since: "2.0.0", Flags: Write | DenyOOM | Fast, Run: hset,
			Summary:    "Gives fields of a hash their values and says how many fields are new.",
			Complexity: "O(N), N being the number of pairs",
			Args:       []Arg{Key("key", RW|Update), pairs}},
		{Name: "hmset", Group: Hash, Since: "2.0.0", Flags: Write | DenyOOM | Fast, Run: hmset,
			Summary:    "Gives fields of a hash their values.",
			Complexity: "O(N), N being the number of pairs",
			Deprecated: "4.0.0", ReplacedBy: "`HSET`, which takes several pairs as well",
			Args: []Arg{Key("key", RW|Update), pairs}},
		{Name: "hsetnx", Group: Hash, Since: "2.0.0", Flags: Write | DenyOOM | Fast, Run: hsetnx,
			Summary:    "Gives a field of a hash a value, unless it has one.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Insert), Str("field"), Str("value")}},
		{Name: "hdel", Group: Hash, Since: "2.0.0", Flags: Write | Fast, Run: hdel,
			Summary:    "Removes fields from a hash; the hash goes with its last field.",
			Complexity: "O(N), N being the number of fields to remove",
			Args:       []Arg{Key("key", RW|Delete), Str("field").Many()}},
		{Name: "hincrby", Group: Hash, Since: "2.0.0", Flags: Write | DenyOOM | Fast, Run: hincrby,
			Summary:    "Adds an integer to a field of a hash; a missing field counts as 0.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Access|Update), Str("field"), Int("increment")}},
		{Name: "hincrbyfloat", Group: Hash, Since: "2.6.0", Flags: Write | DenyOOM | Fast, Run: hincrbyfloat,
			Summary:    "Adds a floating point number to a field of a hash; a missing field counts as 0.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Access|Update), Str("field"), Double("increment")}},
	}
}

func hashReadRows() []Row {
	return []Row{
		{Name: "hget", Group: Hash, Since: "2.0.0", Flags: ReadOnly | Fast, Run: hget,
			Summary:    "Reads a field of a hash.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO|Access), Str("field")}},
		{Name: "hmget", Group: Hash, Since: "2.0.0", Flags: ReadOnly | Fast, Run: hmget,
			Summary:    "Reads several fields of a hash.",
			Complexity: "O(N), N being the number of fields asked for",
			Args:       []Arg{Key("key", RO|Access), Str("field").Many()}},
		{Name: "hlen", Group: Hash, Since: "2.0.0", Flags: ReadOnly | Fast, Run: hlen,
			Summary:    "Counts the fields of a hash.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO)}},
		{Name: "hstrlen", Group: Hash, Since: "3.2.0", Flags: ReadOnly | Fast, Run: hstrlen,
			Summary:    "Tells how many bytes the value of a field has.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO), Str("field")}},
		{Name: "hexists", Group: Hash, Since: "2.0.0", Flags: ReadOnly | Fast, Run: hexists,
			Summary:    "Tells whether a hash has a field.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO), Str("field")}},
	}
}

func hashWalkRows() []Row {
	anyOrder, anyOutput := []string{"nondeterministic_output_order"}, []string{"nondeterministic_output"}
	return []Row{
		{Name: "hgetall", Group: Hash, Since: "2.0.0", Flags: ReadOnly, Tips: anyOrder, Run: hgetall,
			Summary:    "Reads a whole hash, fields and values.",
			Complexity: "O(N), N being the size of the hash",
			Args:       []Arg{Key("key", RO|Access)}},
		{Name: "hkeys", Group: Hash, Since: "2.0.0", Flags: ReadOnly, Tips: anyOrder, Run: hkeys,
			Summary:    "Lists the fields of a hash.",
			Complexity: "O(N), N being the size of the hash",
			Args:       []Arg{Key("key", RO|Access)}},
		{Name: "hvals", Group: Hash, Since: "2.0.0", Flags: ReadOnly, Tips: anyOrder, Run: hvals,
			Summary:    "Lists the values of a hash.",
			Complexity: "O(N), N being the size of the hash",
			Args:       []Arg{Key("key", RO|Access)}},
		{Name: "hrandfield", Group: Hash, Since: "6.2.0", Flags: ReadOnly, Tips: anyOutput, Run: hrandfield,
			Summary:    "Draws random fields of a hash: distinct ones, or, with a negative count, independent ones.",
			Complexity: "O(N), N being the number of fields drawn",
			Args: []Arg{Key("key", RO|Access),
				Opt(Block("options", Int("count"), Opt(Flag("WITHVALUES"))))}},
		{Name: "hscan", Group: Hash, Since: "2.8.0", Flags: ReadOnly, Tips: anyOutput, Run: hscan,
			Summary:    "Walks through the fields of a hash, some at a time.",
			Complexity: "O(1) a call, O(N) for the whole hash of N fields",
			Args: []Arg{Key("key", RO|Access), Int("cursor"), Opt(Pattern("pattern").After("MATCH")),
				Opt(Int("count").After("COUNT")), Opt(Flag("NOVALUES"))}},
	}
}
