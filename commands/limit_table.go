package commands

import "slices"

// LimitRows returns the rows of the native commands for rates, and of that of redis-cell.
func LimitRows() []Row {
	key := Key("key", RW|Access|Update|Insert)
	rate := []Arg{key, Int("burst"), Int("count"), Int("period").Shown("period-ms")}
	cost := Opt(Int("units").After("COST"))
	wait := Opt(Block("wait", Int("milliseconds").After("WAIT"), Opt(Str("owner").After("NOTIFY"))))
	return []Row{
		{Name: "limit.take", Group: Limit, Since: "0.1.0", Flags: Write | DenyOOM | Blocking | Fast, Run: limitTake,
			Summary:    "Takes units from a limiter if its rate allows it, or waits until it does, and tells what is left and when to ask again.",
			Complexity: "O(1)",
			Args:       slices.Concat(rate, []Arg{cost, wait})},
		{Name: "limit.mtake", Group: Limit, Since: "0.1.0", Flags: Write | DenyOOM | Blocking | Fast, Run: limitManyTake,
			Summary:    "Takes units from several limiters if the rates of all allow it, or from none of them; waits until they do if asked to.",
			Complexity: "O(N) for N limiters, at most 64",
			Args:       []Arg{Int("numkeys"), Block("limiter", rate...).Many(), cost, wait}},
		{Name: "limit.give", Group: Limit, Since: "0.1.0", Flags: Write | Fast, Run: limitGive,
			Summary:    "Gives units back to a limiter that were taken and not used. It is never more than full.",
			Complexity: "O(1)",
			Args:       slices.Concat(rate, []Arg{cost})},
		{Name: "cl.throttle", Group: Limit, Since: "0.1.0", Flags: Write | DenyOOM | Fast, Run: clThrottle,
			Summary:    "Takes units from a limiter, as the module redis-cell does, with times in seconds.",
			Complexity: "O(1)",
			Args: []Arg{key, Int("max-burst"), Int("count"), Int("period").Shown("seconds"),
				Opt(Int("quantity"))}},
	}
}
