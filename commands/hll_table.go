package commands

// HyperLogLogRows returns the rows of the commands that count different elements.
func HyperLogLogRows() []Row {
	return []Row{
		{Name: "pfadd", Group: HyperLogLog, Since: "2.8.9", Flags: Write | DenyOOM | Fast, Run: pfadd,
			Summary:    "Counts elements into a HyperLogLog, and says whether its estimate may have changed.",
			Complexity: "O(1) for each element",
			Args:       []Arg{Key("key", RW|Insert), Opt(Str("element").Many())}},

		{Name: "pfcount", Group: HyperLogLog, Since: "2.8.9", Flags: ReadOnly | MayReplicate, Run: pfcount,
			Summary:    "Estimates how many different elements were counted into HyperLogLogs together.",
			Complexity: "O(1) for one key, O(N) for N keys",
			Args:       []Arg{Key("key", RW|Access).Many()}},

		{Name: "pfmerge", Group: HyperLogLog, Since: "2.8.9", Flags: Write | DenyOOM, Run: pfmerge,
			Summary:    "Counts into a HyperLogLog what others have counted.",
			Complexity: "O(N) for N keys",
			Args:       []Arg{Key("destkey", RW|Access|Insert), Opt(Key("sourcekey", RO|Access).Many())}},

		{Name: "pfdebug", Group: HyperLogLog, Since: "2.8.9", Flags: Write | DenyOOM | Admin, SysCmd: true, Run: pfdebug,
			Summary:    "Shows the registers, the opcodes or the encoding of a HyperLogLog, or makes it dense.",
			Complexity: "O(1)",
			Args:       []Arg{Str("subcommand"), Key("key", RW|Access)}},

		{Name: "pfselftest", Group: HyperLogLog, Since: "2.8.9", Flags: Admin, SysCmd: true, Run: pfselftest,
			Summary: "Checks that registers hold what they are given and that estimates are good.", Complexity: "O(1)"},
	}
}
