package commands

// BloomRows are the commands on Bloom filters. Redis has them from version 8 on, and before as a module.
func BloomRows() []Row {
	const since = "8.0.0"
	growth := Opt(Int("expansion").After("EXPANSION"))
	fixed := Opt(Flag("NONSCALING"))
	return []Row{
		{Name: "bf.reserve", Group: Bloom, Since: since, Flags: Write | DenyOOM, Run: bfreserve,
			Summary:    "Makes an empty Bloom filter for a rate of errors and a number of items.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Insert), Double("error_rate"), Int("capacity"), growth, fixed}},
		{Name: "bf.add", Group: Bloom, Since: since, Flags: Write | DenyOOM, Run: bfadd,
			Summary:    "Adds an item to a Bloom filter, which is made if there is none, and says whether it is new.",
			Complexity: "O(K*N) for K hashes and N sub-filters",
			Args:       []Arg{Key("key", RW|Insert), Str("item")}},
		{Name: "bf.madd", Group: Bloom, Since: since, Flags: Write | DenyOOM, Run: bfmadd,
			Summary:    "Adds items to a Bloom filter, which is made if there is none, and says which are new.",
			Complexity: "O(K*N) for each item, K hashes and N sub-filters",
			Args:       []Arg{Key("key", RW|Insert), Str("item").Many()}},
		{Name: "bf.insert", Group: Bloom, Since: since, Flags: Write | DenyOOM, Run: bfinsert,
			Summary:    "Adds items to a Bloom filter as BF.MADD does, and says how to make it if there is none.",
			Complexity: "O(K*N) for each item, K hashes and N sub-filters",
			Args: []Arg{Key("key", RW|Insert), Opt(Int("capacity").After("CAPACITY")), Opt(Double("error").After("ERROR")), growth,
				Opt(Flag("NOCREATE")), fixed, Str("item").After("ITEMS").Many()}},
		{Name: "bf.exists", Group: Bloom, Since: since, Flags: ReadOnly | Fast, Run: bfexists,
			Summary:    "Says whether an item was probably added to a Bloom filter.",
			Complexity: "O(K*N) for K hashes and N sub-filters",
			Args:       []Arg{Key("key", RO|Access), Str("item")}},
		{Name: "bf.mexists", Group: Bloom, Since: since, Flags: ReadOnly | Fast, Run: bfmexists,
			Summary:    "Says which items were probably added to a Bloom filter.",
			Complexity: "O(K*N) for each item, K hashes and N sub-filters",
			Args:       []Arg{Key("key", RO|Access), Str("item").Many()}},
		{Name: "bf.card", Group: Bloom, Since: since, Flags: ReadOnly | Fast, Run: bfcard,
			Summary:    "Counts the items that were added to a Bloom filter.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO)}},
		{Name: "bf.info", Group: Bloom, Since: since, Flags: ReadOnly | Fast, Run: bfinfo,
			Summary:    "Shows the numbers of a Bloom filter, or one of them.",
			Complexity: "O(N) for N sub-filters",
			Args: []Arg{Key("key", RO), Opt(OneOf("single_value", Flag("CAPACITY"), Flag("SIZE"), Flag("FILTERS"), Flag("ITEMS"),
				Flag("EXPANSION")))}},
		{Name: "bf.scandump", Group: Bloom, Since: since, Flags: ReadOnly | Fast, Run: bfscandump,
			Summary:    "Gives a Bloom filter piece by piece, for BF.LOADCHUNK.",
			Complexity: "O(N) for N bytes of the piece",
			Args:       []Arg{Key("key", RO|Access), Int("iterator")}},
		{Name: "bf.loadchunk", Group: Bloom, Since: since, Flags: Write | DenyOOM, Run: bfloadchunk,
			Summary:    "Takes a piece of a Bloom filter from BF.SCANDUMP.",
			Complexity: "O(N) for N bytes of the piece",
			Args:       []Arg{Key("key", RW|Insert), Int("iterator"), Str("data")}},
	}
}
