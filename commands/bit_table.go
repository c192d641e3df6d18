package commands

// BitRows are the commands on the bits of strings.
func BitRows() []Row {
	return append(bitReadRows(), bitWriteRows()...)
}

func bitReadRows() []Row {
	unit := Opt(OneOf("unit", Flag("BYTE"), Flag("BIT")).From("7.0.0"))
	return []Row{
		{Name: "getbit", Group: Bitmap, Since: "2.2.0", Flags: ReadOnly | Fast, Run: getbit,
			Summary: "Returns one bit of a string.", Complexity: "O(1)",
			Args: []Arg{Key("key", RO|Access), Int("offset")}},

		{Name: "bitcount", Group: Bitmap, Since: "2.6.0", Flags: ReadOnly, Run: bitcount,
			Summary: "Counts the bits of a string, or of a part of it, that are 1.", Complexity: "O(N) for N bytes",
			Args: []Arg{Key("key", RO|Access), Opt(Block("range", Int("start"), Int("end"), unit))}},

		{Name: "bitpos", Group: Bitmap, Since: "2.8.7", Flags: ReadOnly, Run: bitpos,
			Summary: "Finds the first bit of a string, or of a part of it, that is 0, or 1.", Complexity: "O(N) for N bytes",
			Args: []Arg{Key("key", RO|Access), Int("bit"),
				Opt(Block("range", Int("start"), Opt(Block("end-unit-block", Int("end"), unit))))}},

		{Name: "bitfield_ro", Group: Bitmap, Since: "6.0.0", Flags: ReadOnly | Fast, Run: bitfield,
			Summary: "Reads integers of any width from the bits of a string.", Complexity: "O(1) for each",
			Args: []Arg{Key("key", RO|Access),
				Opt(Block("get-block", Str("encoding"), Int("offset")).After("GET").ManyTokens())}},
	}
}

func bitWriteRows() []Row {
	field := func(name, last string) Arg { return Block(name, Str("encoding"), Int("offset"), Int(last)) }
	return []Row{
		{Name: "setbit", Group: Bitmap, Since: "2.2.0", Flags: Write | DenyOOM, Run: setbit,
			Summary:    "Sets one bit of a string and returns what it was; the string grows as it must.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Access|Update), Int("offset"), Int("value")}},

		{Name: "bitop", Group: Bitmap, Since: "2.6.0", Flags: Write | DenyOOM, Run: bitop,
			Summary:    "Combines the bits of strings: AND, OR, XOR, NOT, ONE, DIFF, DIFF1, ANDOR.",
			Complexity: "O(N) for N bytes in all",
			Args: []Arg{OneOf("operation", Flag("AND"), Flag("OR"), Flag("XOR"), Flag("NOT"), Flag("DIFF").From("8.2.0"),
				Flag("DIFF1").From("8.2.0"), Flag("ANDOR").From("8.2.0"), Flag("ONE").From("8.2.0")), Key("destkey", OW|Update), Key("key", RO|Access).Many()}},

		{Name: "bitfield", Group: Bitmap, Since: "3.2.0", Flags: Write | DenyOOM, Run: bitfield, FindKeys: bitfieldKeys,
			Summary:    "Reads and writes integers of any width in the bits of a string, and counts with them.",
			Complexity: "O(1) for each",
			Args: []Arg{Key("key", RW|Access|Update|VariableFlags),
				Opt(OneOf("operation", Block("get-block", Str("encoding"), Int("offset")).After("GET"),
					Block("write", Opt(OneOf("overflow-block", Flag("WRAP"), Flag("SAT"), Flag("FAIL")).After("OVERFLOW")),
						OneOf("write-operation", field("set-block", "value").After("SET"), field("incrby-block", "increment").After("INCRBY"))))).Many()}},
	}
}
