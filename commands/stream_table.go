package commands

// StreamRows returns the rows of the commands on streams.
func StreamRows() []Row {
	rows := streamWriteRows()
	rows = append(rows, streamReadRows()...)
	rows = append(rows, streamGroupRows()...)
	return append(rows, xgroupRow(), xinfoRow())
}

func streamWriteRows() []Row {
	trim := []Arg{
		OneOf("strategy", Flag("MAXLEN"), Flag("MINID").From("6.2.0")),
		Opt(OneOf("operator", Flag("=").Named("equal"), Flag("~").Named("approximately"))),
		Str("threshold"),
		Opt(Int("count").After("LIMIT").From("6.2.0"))}
	return []Row{
		{Name: "xadd", Group: Stream, Since: "5.0.0", Flags: Write | DenyOOM | Fast, Run: xadd,
			Summary:    "Appends an entry to a stream and returns its ID; trims the stream if asked to.",
			Complexity: "O(1), and O(N) for N entries that are trimmed",
			Tips:       []string{"nondeterministic_output"},
			Args: []Arg{Key("key", RW|Update), Opt(Flag("NOMKSTREAM")).From("6.2.0"),
				refsArg(), produceArg(), Opt(Block("trim", trim...)),
				OneOf("id-selector", Flag("*").Named("auto-id"), Str("id")),
				Block("data", Str("field"), Str("value")).Many()}},
		{Name: "xdel", Group: Stream, Since: "5.0.0", Flags: Write | Fast, Run: xdel,
			Summary:    "Removes entries from a stream and counts those that there were.",
			Complexity: "O(1) for each ID",
			Args:       []Arg{Key("key", RW|Delete), Str("id").Many()}},
		{Name: "xdelex", Group: Stream, Since: "8.2.0", Flags: Write | Fast, Run: xdelex,
			Summary:    "Removes entries from a stream, with or without what consumer groups have pending of them, or only those that no group needs.",
			Complexity: "O(G) for each ID and G groups",
			Args:       []Arg{Key("key", RW|Delete), refsArg(), idsArg()}},
		{Name: "xtrim", Group: Stream, Since: "5.0.0", Flags: Write, Run: xtrim,
			Summary:    "Removes the oldest entries of a stream, by number or by ID, and counts them.",
			Complexity: "O(N) for N entries that are removed",
			Tips:       []string{"nondeterministic_output"},
			Args:       []Arg{Key("key", RW|Delete), Block("trim", append(trim, refsArg())...)}},
		{Name: "xsetid", Group: Stream, Since: "5.0.0", Flags: Write | DenyOOM | Fast, Run: xsetid,
			Summary:    "Sets the last ID of a stream, and the numbers kept beside it.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Update), Str("last-id"),
				Opt(Int("entries-added").After("ENTRIESADDED")).From("7.0.0"),
				Opt(Str("max-deleted-id").After("MAXDELETEDID")).From("7.0.0")}},
		{Name: "xcfgset", Group: Stream, Since: "8.6.0", Flags: Write | Fast, Run: xcfgset,
			Summary:    "Sets for how long a stream remembers what producers have added, and how much of each.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Update), Opt(Int("idmp-duration").After("IDMP-DURATION")),
				Opt(Int("idmp-maxsize").After("IDMP-MAXSIZE"))}},
		{Name: "xidmprecord", Group: Stream, Since: "8.8.0", Flags: Write | DenyOOM | Fast, Run: xidmprecord,
			Summary:    "Makes a stream remember that a producer's message is an entry; for logs.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Update), Str("pid"), Str("iid"), Str("stream-id"),
				Opt(Int("unix-time-milliseconds").After("TIME"))}},
	}
}

// produceArg is the grammar of the producer of an entry.
func produceArg() Arg {
	return Opt(OneOf("idmp", Block("idmpauto-with-pid", Flag("IDMPAUTO").Named("idmpauto-token"), Str("pid")),
		Block("idmp-with-pid-iid", Flag("IDMP").Named("idmp-token"), Str("pid"), Str("iid")))).From("8.6.0")
}

func streamReadRows() []Row {
	count := Opt(Int("count").After("COUNT"))
	return []Row{
		{Name: "xlen", Group: Stream, Since: "5.0.0", Flags: ReadOnly | Fast, Run: xlen,
			Summary:    "Counts the entries of a stream.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO)}},
		{Name: "xrange", Group: Stream, Since: "5.0.0", Flags: ReadOnly, Run: xrange,
			Summary:    "Reads the entries of a stream between two IDs, oldest first.",
			Complexity: "O(log N + M) for M of N entries",
			Args:       []Arg{Key("key", RO|Access), Str("start"), Str("end"), count}},
		{Name: "xrevrange", Group: Stream, Since: "5.0.0", Flags: ReadOnly, Run: xrevrange,
			Summary:    "Reads the entries of a stream between two IDs, newest first.",
			Complexity: "O(log N + M) for M of N entries",
			Args:       []Arg{Key("key", RO|Access), Str("end"), Str("start"), count}},
		{Name: "xread", Group: Stream, Since: "5.0.0", Flags: ReadOnly | Blocking, Run: xread,
			Summary:    "Reads from several streams what comes after an ID each; waits for it if asked to.",
			Complexity: "O(log N + M) for each stream, for M of N entries",
			Args: []Arg{count, Opt(Int("milliseconds").After("BLOCK")),
				Block("streams", Key("key", RO|Access).Many(), Str("id").Many()).After("STREAMS")}},
	}
}

func xinfoRow() Row {
	return Row{Name: "xinfo", Group: Stream, Since: "5.0.0",
		Summary: "Tells about a stream.", Complexity: "Depends on the subcommand.",
		Sub: []Row{
			{Name: "stream", Group: Stream, Since: "5.0.0", Flags: ReadOnly, Run: xinfoStream,
				Summary:    "Shows the numbers kept with a stream and its first and last entry, or with FULL its entries.",
				Complexity: "O(N) for N nodes of entries",
				Args: []Arg{Key("key", RO|Access),
					Opt(Block("full-block", Flag("FULL"), Opt(Int("count").After("COUNT"))))}},
			{Name: "groups", Group: Stream, Since: "5.0.0", Flags: ReadOnly, Run: xinfoGroups,
				Summary:    "Lists the consumer groups of a stream, with how far each has read.",
				Complexity: "O(N) for N groups",
				Args:       []Arg{Key("key", RO|Access)}},
			{Name: "consumers", Group: Stream, Since: "5.0.0", Flags: ReadOnly, Run: xinfoConsumers,
				Summary:    "Lists the consumers of a group, with what is pending for each.",
				Complexity: "O(N) for N consumers",
				Tips:       []string{"nondeterministic_output"},
				Args:       []Arg{Key("key", RO|Access), Str("group")}},
		}}
}
