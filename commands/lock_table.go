package commands

// LockRows returns the rows of the native commands on locks.
func LockRows() []Row {
	lease := Opt(OneOf("lease", Int("milliseconds").After("PX"), Int("seconds").After("EX")))
	shared := Opt(Flag("SHARED"))
	trace := Opt(Str("traceparent").After("TRACE"))
	const eachKey = "O(N) where N is the number of keys"
	return []Row{
		{Name: "lock", Group: Lock, Since: "0.1.0", Flags: Write | DenyOOM | Blocking | Fast, Run: lock,
			Summary:    "Acquires a lock, or acquires it again, alone or with others who share it, and returns its fencing token; waits its turn if asked to.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update|Insert), Str("owner"), shared, lease,
				Opt(Block("wait", Int("milliseconds").After("WAIT"), Opt(Int("priority").After("PRIORITY")), Opt(Flag("NOTIFY")))), Opt(Flag("ONCE")), trace}},
		{Name: "unlock", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: unlock,
			Summary:    "Gives back one hold of a lock; the last one releases it.",
			Complexity: "O(1)",
			Args: []Arg{Key("key", RW|Access|Update|Delete), Str("owner"), shared,
				Opt(Int("token").After("TOKEN"))}},
		{Name: "renew", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: renew,
			Summary:    "Starts a held lock's lease anew.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Update), Str("owner"), lease, Opt(Int("token").After("TOKEN"))}},
		{Name: "mlock", Group: Lock, Since: "0.1.0", Flags: Write | DenyOOM | Blocking, Run: mlock,
			Summary:    "Acquires several locks at once, or none of them, and returns their fencing tokens; waits its turn if asked to.",
			Complexity: eachKey,
			Args: []Arg{Int("numkeys"), Key("key", RW|Access|Update|Insert).Many(), Str("owner"), shared, lease,
				Opt(Block("wait", Int("milliseconds").After("WAIT"), Opt(Int("priority").After("PRIORITY")), Opt(Flag("NOTIFY")))), Opt(Flag("ONCE")), trace}},
		{Name: "munlock", Group: Lock, Since: "0.1.0", Flags: Write, Run: munlock,
			Summary:    "Gives back one hold of each of several locks.",
			Complexity: eachKey,
			Args: []Arg{Int("numkeys"), Key("key", RW|Access|Update|Delete).Many(), Str("owner"), shared,
				Opt(Int("token").Many().After("TOKENS"))}},
		{Name: "lock.force", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Cats: CatDangerous, Run: lockForce,
			Summary:    "Releases a lock or a semaphore, whichever owners hold it, or what one owner holds of it.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RM|Delete), Opt(Str("owner").After("OWNER"))}},
		{Name: "lock.list", Group: Lock, Since: "0.1.0", Flags: ReadOnly, Run: lockList,
			Tips:       []string{"nondeterministic_output_order", "request_policy:all_shards"},
			Summary:    "Lists the locks that are held, with their owners, holds, tokens and leases.",
			Complexity: "O(N) where N is the number of held locks, with CURSOR that of those it looks at",
			Args: []Arg{Opt(Pattern("pattern").After("MATCH")), Opt(Str("owner").After("OWNER")),
				Opt(Int("count").After("COUNT")), Opt(Int("cursor").After("CURSOR"))}},
		{Name: "guard", Group: Lock, Since: "0.1.0", Flags: MayReplicate, Inner: 3, Run: guard,
			Summary:    "Runs a command if the token is that of the lock's present holder.",
			Complexity: "That of the command",
			Args:       []Arg{Key("key", RO|Access), Int("token"), Str("command"), Opt(Str("arg").Many())}},
	}
}
