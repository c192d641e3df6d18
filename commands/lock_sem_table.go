package commands

// SemaphoreRows returns the rows of the native commands on semaphores, except SEM.INFO, which is the
// server's.
func SemaphoreRows() []Row {
	lease := Opt(OneOf("lease", Int("milliseconds").After("PX"), Int("seconds").After("EX")))
	const logarithmic = "O(log N) where N is the number of holders"
	return []Row{
		{Name: "sem.acquire", Group: Lock, Since: "0.1.0", Flags: Write | DenyOOM | Blocking | Fast, Run: semAcquire,
			Summary:    "Takes permits of a semaphore, and returns the holder's fencing token; waits its turn if asked to.",
			Complexity: logarithmic,
			Args: []Arg{Key("key", RW|Access|Update|Insert), Str("owner"),
				Opt(OneOf("size", Int("limit").After("LIMIT"), Int("initial-limit").After("INITIAL"))), Opt(Int("permits").After("PERMITS")),
				lease, Opt(Block("wait", Int("milliseconds").After("WAIT"), Opt(Int("priority").After("PRIORITY")), Opt(Flag("NOTIFY")))), Opt(Flag("ONCE")),
				Opt(Str("traceparent").After("TRACE"))}},
		{Name: "sem.release", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: semRelease,
			Summary:    "Gives permits back, all by default, and returns how many the owner still holds.",
			Complexity: logarithmic,
			Args: []Arg{Key("key", RW|Access|Update|Delete), Str("owner"), Opt(Int("permits").After("PERMITS")),
				Opt(Int("token").After("TOKEN"))}},
		{Name: "sem.renew", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: semRenew,
			Summary:    "Starts the lease of a semaphore's holder anew.",
			Complexity: logarithmic,
			Args:       []Arg{Key("key", RW|Update), Str("owner"), lease, Opt(Int("token").After("TOKEN"))}},
		{Name: "sem.resize", Group: Lock, Since: "0.1.0", Flags: Write | Fast, Run: semResize,
			Summary:    "Sets the limit of a semaphore: 1, or 0 if there is none.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RW|Update), Int("limit")}},
	}
}
