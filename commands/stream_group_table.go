package commands

// streamGroupRows are the commands of those who read a stream as a group.
func streamGroupRows() []Row {
	return []Row{
		{Name: "xreadgroup", Group: Stream, Since: "5.0.0", Flags: Write | Blocking, Run: xreadgroup,
			Summary:    "Gives a consumer entries that its group has not read, or those pending for it; waits for new ones if asked to.",
			Complexity: "O(log N + M) for each stream, for M of N entries",
			Args: []Arg{Block("group-block", Str("group"), Str("consumer")).After("GROUP"),
				Opt(Int("count").After("COUNT")), Opt(Int("milliseconds").After("BLOCK")), Opt(Flag("NOACK")),
				Block("streams", Key("key", RO|Access).Many(), Str("id").Many()).After("STREAMS")}},
		{Name: "xack", Group: Stream, Since: "5.0.0", Flags: Write | Fast, Run: xack,
			Summary:    "Says that entries have been dealt with: they are no longer pending. Counts those that were.",
			Complexity: "O(log N) for each ID, N entries being pending",
			Args:       []Arg{Key("key", RW|Update), Str("group"), Str("id").Many()}},
		{Name: "xackdel", Group: Stream, Since: "8.2.0", Flags: Write | Fast, Run: xackdel,
			Summary:    "Says that entries have been dealt with, and removes them from the stream as XDELEX does.",
			Complexity: "O(G) for each ID and G groups",
			Args:       []Arg{Key("key", RW|Delete), Str("group"), refsArg(), idsArg()}},
		{Name: "xpending", Group: Stream, Since: "5.0.0", Flags: ReadOnly, Run: xpending,
			Summary:    "Shows what was delivered to a group and not acknowledged: how much, or which entries.",
			Complexity: "O(N) for N entries shown or looked at, or N consumers",
			Tips:       []string{"nondeterministic_output"},
			Args: []Arg{Key("key", RO|Access), Str("group"),
				Opt(Block("filters", Opt(Int("min-idle-time").After("IDLE")).From("6.2.0"), Str("start"), Str("end"), Int("count"),
					Opt(Str("consumer"))))}},
		{Name: "xclaim", Group: Stream, Since: "5.0.0", Flags: Write | Fast, Run: xclaim,
			Summary:    "Gives a consumer entries that are pending for others.",
			Complexity: "O(log N) for each ID, N entries being pending",
			Tips:       []string{"nondeterministic_output"},
			Args: []Arg{Key("key", RW|Update), Str("group"), Str("consumer"), Str("min-idle-time"), Str("id").Many(),
				Opt(Int("ms").After("IDLE")), Opt(UnixTime("unix-time-milliseconds").After("TIME")),
				Opt(Int("count").After("RETRYCOUNT")), Opt(Flag("FORCE")), Opt(Flag("JUSTID")), Opt(Str("lastid").After("LASTID"))}},
		{Name: "xautoclaim", Group: Stream, Since: "6.2.0", Flags: Write | Fast, Run: xautoclaim,
			Summary:    "Gives a consumer what has been pending for others for long, and says where to go on.",
			Complexity: "O(log N + M) for M entries looked at, N being pending",
			Tips:       []string{"nondeterministic_output"},
			Args: []Arg{Key("key", RW|Delete), Str("group"), Str("consumer"), Str("min-idle-time"), Str("start"),
				Opt(Int("count").After("COUNT")), Opt(Flag("JUSTID"))}},
	}
}

func xgroupRow() Row {
	id := OneOf("id-selector", Str("id"), Flag("$").Named("new-id"))
	read := Opt(Int("entriesread").Shown("entries-read").After("ENTRIESREAD"))
	return Row{Name: "xgroup", Group: Stream, Since: "5.0.0",
		Summary: "Manages consumer groups.", Complexity: "Depends on the subcommand.",
		Sub: []Row{
			{Name: "create", Group: Stream, Since: "5.0.0", Flags: Write | DenyOOM, Run: xgroupCreate,
				Summary:    "Adds a consumer group to a stream.",
				Complexity: "O(1)",
				Args:       []Arg{Key("key", RW|Insert), Str("group"), id, Opt(Flag("MKSTREAM")), read}},
			{Name: "setid", Group: Stream, Since: "5.0.0", Flags: Write, Run: xgroupSetID,
				Summary:    "Sets up to where a group has read.",
				Complexity: "O(1)",
				Args:       []Arg{Key("key", RW|Update), Str("group"), id, read}},
			{Name: "destroy", Group: Stream, Since: "5.0.0", Flags: Write, Run: xgroupDestroy,
				Summary:    "Removes a group with all that is pending for it.",
				Complexity: "O(1)",
				Args:       []Arg{Key("key", RW|Delete), Str("group")}},
			{Name: "createconsumer", Group: Stream, Since: "6.2.0", Flags: Write | DenyOOM, Run: xgroupCreateConsumer,
				Summary:    "Adds a consumer to a group.",
				Complexity: "O(1)",
				Args:       []Arg{Key("key", RW|Insert), Str("group"), Str("consumer")}},
			{Name: "delconsumer", Group: Stream, Since: "5.0.0", Flags: Write, Run: xgroupDelConsumer,
				Summary:    "Removes a consumer from a group with all that is pending for it, and counts that.",
				Complexity: "O(N) for N entries pending for it",
				Args:       []Arg{Key("key", RW|Delete), Str("group"), Str("consumer")}},
		}}
}
