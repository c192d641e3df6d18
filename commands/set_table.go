package commands

// SetRows returns the rows of the commands on sets.
func SetRows() []Row {
	rows := setMemberRows()
	rows = append(rows, setRandomRows()...)
	return append(rows, setAlgebraRows()...)
}

func setMemberRows() []Row {
	anyOrder := []string{"nondeterministic_output_order"}
	return []Row{
		{Name: "sadd", Group: Set, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: sadd,
			Summary:    "Puts members into a set and says how many of them are new.",
			Complexity: "O(N), N being the number of members given",
			Args:       []Arg{Key("key", RW|Insert), Str("member").Many()}},
		{Name: "srem", Group: Set, Since: "1.0.0", Flags: Write | Fast, Run: srem,
			Summary:    "Takes members out of a set; the set goes with its last member.",
			Complexity: "O(N), N being the number of members given",
			Args:       []Arg{Key("key", RW|Delete), Str("member").Many()}},
		{Name: "smove", Group: Set, Since: "1.0.0", Flags: Write | Fast, Run: smove,
			Summary:    "Takes a member out of one set and puts it into another.",
			Complexity: "O(1)",
			Args:       []Arg{Key("source", RW|Access|Delete), Key("destination", RW|Insert), Str("member")}},
		{Name: "sismember", Group: Set, Since: "1.0.0", Flags: ReadOnly | Fast, Run: sismember,
			Summary:    "Tells whether a set has a member.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO), Str("member")}},
		{Name: "smismember", Group: Set, Since: "6.2.0", Flags: ReadOnly | Fast, Run: smismember,
			Summary:    "Tells of each of several members whether a set has it.",
			Complexity: "O(N), N being the number of members given",
			Args:       []Arg{Key("key", RO|Access), Str("member").Many()}},
		{Name: "smembers", Group: Set, Since: "1.0.0", Flags: ReadOnly, Tips: anyOrder, Run: smembers,
			Summary:    "Reads a whole set.",
			Complexity: "O(N), N being the size of the set",
			Args:       []Arg{Key("key", RO|Access)}},
		{Name: "scard", Group: Set, Since: "1.0.0", Flags: ReadOnly | Fast, Run: scard,
			Summary:    "Counts the members of a set.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO)}},
	}
}

func setRandomRows() []Row {
	anyOutput := []string{"nondeterministic_output"}
	return []Row{
		{Name: "spop", Group: Set, Since: "1.0.0", Flags: Write | Fast, Tips: anyOutput, Run: spop,
			Summary:    "Draws random members and takes them out of the set.",
			Complexity: "O(N), N being the number of members drawn",
			Args:       []Arg{Key("key", RW|Access|Delete), Opt(Int("count").From("3.2.0"))}},
		{Name: "srandmember", Group: Set, Since: "1.0.0", Flags: ReadOnly, Tips: anyOutput, Run: srandmember,
			Summary:    "Draws random members of a set: distinct ones, or, with a negative count, independent ones.",
			Complexity: "O(N), N being the number of members drawn",
			Args:       []Arg{Key("key", RO|Access), Opt(Int("count").From("2.6.0"))}},
		{Name: "sscan", Group: Set, Since: "2.8.0", Flags: ReadOnly, Tips: anyOutput, Run: sscan,
			Summary:    "Walks through the members of a set, some at a time.",
			Complexity: "O(1) a call, O(N) for the whole set of N members",
			Args: []Arg{Key("key", RO|Access), Int("cursor"), Opt(Pattern("pattern").After("MATCH")),
				Opt(Int("count").After("COUNT"))}},
	}
}

func setAlgebraRows() []Row {
	const (
		interTime = "O(N*M), N being the size of the smallest set and M the number of sets"
		sumTime   = "O(N), N being the sizes of all sets together"
	)
	anyOrder := []string{"nondeterministic_output_order"}
	operands := Key("key", RO|Access).Many()
	return []Row{
		{Name: "sinter", Group: Set, Since: "1.0.0", Flags: ReadOnly, Tips: anyOrder, Run: sinter,
			Summary:    "Lists what all of several sets have.",
			Complexity: interTime,
			Args:       []Arg{operands}},
		{Name: "sinterstore", Group: Set, Since: "1.0.0", Flags: Write | DenyOOM, Run: sinterstore,
			Summary:    "Makes a set of what all of several sets have.",
			Complexity: interTime,
			Args:       []Arg{Key("destination", OW|Update), operands}},
		{Name: "sintercard", Group: Set, Since: "7.0.0", Flags: ReadOnly, Run: sintercard,
			Summary:    "Counts what all of several sets have, up to a limit if there is one.",
			Complexity: interTime,
			Args:       []Arg{Int("numkeys"), operands, Opt(Int("limit").After("LIMIT"))}},
		{Name: "sunion", Group: Set, Since: "1.0.0", Flags: ReadOnly, Tips: anyOrder, Run: sunion,
			Summary:    "Lists what any of several sets has.",
			Complexity: sumTime,
			Args:       []Arg{operands}},
		{Name: "sunionstore", Group: Set, Since: "1.0.0", Flags: Write | DenyOOM, Run: sunionstore,
			Summary:    "Makes a set of what any of several sets has.",
			Complexity: sumTime,
			Args:       []Arg{Key("destination", OW|Update), operands}},
		{Name: "sdiff", Group: Set, Since: "1.0.0", Flags: ReadOnly, Tips: anyOrder, Run: sdiff,
			Summary:    "Lists what the first of several sets has and no other one.",
			Complexity: sumTime,
			Args:       []Arg{operands}},
		{Name: "sdiffstore", Group: Set, Since: "1.0.0", Flags: Write | DenyOOM, Run: sdiffstore,
			Summary:    "Makes a set of what the first of several sets has and no other one.",
			Complexity: sumTime,
			Args:       []Arg{Key("destination", OW|Update), operands}},
	}
}
