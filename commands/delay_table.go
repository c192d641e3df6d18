package commands

import "lockserver/store"

// DelayRows are the native commands for entries that are added to a stream later.
func DelayRows() []Row {
	const changes = Write | Fast | TouchesArbitraryKeys
	stream := func(use KeyFlags) Arg { return Key("stream", use) }
	once := Opt(Str("request").After("ONCE"))
	due := OneOf("due", Int("milliseconds").After("PX"), UnixTime("unix-time-milliseconds").After("AT"))
	rule := Block("recurrence",
		OneOf("recurs", Int("every-milliseconds").After("EVERY"), Block("cron", Str("expression").After("CRON"), Opt(Str("zone").After("TZ")))),
		Opt(Int("times").After("TIMES")), Opt(UnixTime("until-unix-time-milliseconds").After("UNTIL")),
		Opt(OneOf("missed", Flag("ONCE"), Flag("SKIP"), Flag("ALL")).After("MISSED")))
	return []Row{
		{Name: "delay.add", Group: Delay, Since: "0.1.0", Flags: changes | DenyOOM, Run: delayAdd, Implied: delayWrites,
			Summary:    "Adds an entry to a stream later, or by a rule; returns its id, nil if an entry of this id is pending.",
			Complexity: "O(log N) where N is the number of pending entries",
			Args: []Arg{stream(RW | Insert), OneOf("when", Block("time", due, Opt(rule)), rule), Opt(Block("name", Str("id").After("ID"), once)),
				Block("data", Str("field"), Str("value")).Many()}},
		{Name: "delay.cancel", Group: Delay, Since: "0.1.0", Flags: changes, Run: delayCancel, Implied: delayWrites,
			Summary:    "Removes a pending entry.",
			Complexity: "O(log N) where N is the number of pending entries",
			Args:       []Arg{stream(RW | Insert), Str("id"), once}},
		{Name: "delay.move", Group: Delay, Since: "0.1.0", Flags: changes, Run: delayMove, Implied: delayWrites,
			Summary:    "Makes a pending entry due at another time.",
			Complexity: "O(log N) where N is the number of pending entries",
			Args:       []Arg{stream(RW | Insert), Str("id"), due, once}},
		{Name: "delay.get", Group: Delay, Since: "0.1.0", Flags: ReadOnly | Fast, Run: delayGet, Implied: delayReads,
			Summary:    "Returns when a pending entry is due, its fields, and its rule if it recurs.",
			Complexity: "O(1)",
			Args:       []Arg{stream(RO | Access), Str("id")}},
		{Name: "delay.list", Group: Delay, Since: "0.1.0", Flags: ReadOnly, Run: delayList, Implied: delayReads,
			Summary:    "Lists pending entries in the order in which they are due.",
			Complexity: "O(log(N)+M) where N is the number of pending entries and M that of those it returns",
			Args:       []Arg{stream(RO | Access), Opt(UnixTime("milliseconds").After("FROM")), Opt(Int("count").After("COUNT"))}},
		{Name: "delay.count", Group: Delay, Since: "0.1.0", Flags: ReadOnly | Fast, Run: delayCount, Implied: delayReads,
			Summary:    "Returns the number of pending entries of a stream.",
			Complexity: "O(1)",
			Args:       []Arg{stream(RO | Access)}},
	}
}

// delayReads visits the keys that a command reads without naming them.
func delayReads(_ *store.DB, args [][]byte, visit func([]byte, KeyFlags) bool) {
	visitDelays(args[1], RO|Access, visit)
}

// delayWrites visits the keys that a command changes without naming them.
func delayWrites(_ *store.DB, args [][]byte, visit func([]byte, KeyFlags) bool) {
	visitDelays(args[1], RW|Access|Update|Insert|Delete, visit)
}

func visitDelays(stream []byte, use KeyFlags, visit func([]byte, KeyFlags) bool) {
	key := append(append([]byte(store.DelayedPrefix), stream...), store.DelayedSuffix...)
	if visit(key, use) {
		size := len(key)
		key = append(key, store.EntriesSuffix...)
		if visit(key, use) && use&RW != 0 {
			visit(append(key[:size:size], store.RequestsSuffix...), use)
		}
	}
}
