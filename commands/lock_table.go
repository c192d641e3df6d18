package commands

// LockRows are the native commands on locks.
func LockRows() []Row {
	lease := Opt(OneOf("lease", Int("milliseconds").After("PX"), Int("seconds").After("EX")))
	return []Row{
		{Name: "lock", Group: Lock, Since: "0.1.0", Flags: Write | DenyOOM | Blocking | Fast, Run: lock,
			Summary:    "Acquires a lock, or acquires it again, and returns its fencing token; waits its turn if asked to.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update|Insert), Str("owner"), lease,
				Opt(Int("milliseconds").After("WAIT"))}},
		{Name: "unlock", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: unlock,
			Summary:    "Gives back one hold of a lock; the last one releases it.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Access|Update|Delete), Str("owner"), Opt(Int("token").After("TOKEN"))}},
		{Name: "renew", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: renew,
			Summary:    "Starts a held lock's lease anew.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Update), Str("owner"), lease, Opt(Int("token").After("TOKEN"))}},
	}
}
