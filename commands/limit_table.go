package commands

// LimitRows are the native commands for rates, and that of redis-cell.
func LimitRows() []Row {
	key := Key("key", RW|Access|Update|Insert)
	return []Row{
		{Name: "limit.take", Group: Limit, Since: "0.1.0", Flags: Write | DenyOOM | Blocking | Fast, Run: limitTake,
			Summary:    "Takes units from a limiter if its rate allows it, or waits until it does, and tells what is left and when to ask again.",
			Complexity: "O(1)",
			Args: []Arg{key, Int("burst"), Int("count"), Int("period").Shown("period-ms"),
				Opt(Int("units").After("COST")), Opt(Block("wait", Int("milliseconds").After("WAIT"), Opt(Str("owner").After("NOTIFY"))))}},
		{Name: "cl.throttle", Group: Limit, Since: "0.1.0", Flags: Write | DenyOOM | Fast, Run: clThrottle,
			Summary:    "Takes units from a limiter, as the module redis-cell does, with times in seconds.",
			Complexity: "O(1)",
			Args: []Arg{key, Int("max-burst"), Int("count"), Int("period").Shown("seconds"),
				Opt(Int("quantity"))}},
	}
}
