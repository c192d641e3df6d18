package commands

// LatchRows returns the rows of the native commands on latches.
func LatchRows() []Row {
	return []Row{
		{Name: "latch.set", Group: Lock, Since: "0.1.0", Flags: Write | DenyOOM | Fast, Run: latchSet,
			Summary:    "Closes a latch with a count, if there is no such latch: 1, else 0.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Insert), Int("count")}},
		{Name: "latch.down", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: latchDown,
			Summary:    "Takes counts from a latch and returns what is left; the last one opens it.",
			Complexity: "O(1), and O(N) for the last count with N waiters",
			Args:       []Arg{Key("key", RW|Access|Update|Delete), Opt(Int("count"))}},
		{Name: "latch.wait", Group: Lock, Since: "0.1.0", Flags: ReadOnly | Blocking, Run: latchWait,
			Summary:    "Tells whether a latch is open: 1, else 0; waits for it if asked to.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO|Access), Opt(Int("milliseconds").After("WAIT"))}},
		{Name: "latch.get", Group: Lock, Since: "0.1.0", Flags: ReadOnly | Fast, Run: latchGet,
			Summary:    "Returns how many counts are left until a latch is open.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO|Access)}},
	}
}
