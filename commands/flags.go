package commands

// Flags are properties of a command that the executor, the ACL or a client acts on.
type Flags uint32

// The flags, in the order in which Redis prints them. MovableKeys is derived and may not be stated.
const (
	Write                Flags = 1 << iota // may change the data
	ReadOnly                               // reads keys, changes nothing
	DenyOOM                                // refused when memory is full
	Admin                                  // an operator's command
	UsesPubSub                             // publishes or subscribes
	NoScript                               // not callable from scripts
	Blocking                               // may wait for other clients
	Loading                                // allowed while the data is being loaded
	Stale                                  // allowed on a replica that lost its primary
	SkipMonitor                            // not shown by MONITOR
	SkipSlowlog                            // not kept in the slow log
	Asking                                 // obeys ASK redirections
	Fast                                   // constant or logarithmic time
	NoAuth                                 // allowed before authentication
	MayReplicate                           // is handed on though it is no write (PUBLISH); not printed
	NoMandatoryKeys                        // may be called without any key
	NoAsyncLoading                         // refused while a replica loads beside its old data
	NoMulti                                // not allowed inside MULTI
	MovableKeys                            // derived: where the keys are depends on the arguments
	AllowBusy                              // allowed while a script runs too long
	TouchesArbitraryKeys                   // may change keys that it does not name (FLUSHALL, SWAPDB); not printed
	Immediate                              // runs at once between MULTI and EXEC instead of being queued; not printed

	// What only a few commands have; not printed, either.

	RunsQueue       // runs what was queued, and is judged by that (EXEC)
	WhileSubscribed // allowed for a version 2 client that is subscribed
	Protected       // refused unless enable-debug-command allows it (DEBUG)
	NeedsDisk       // refused, though it is no write, while the log cannot be written (PING, which monitors send)
	InLog           // has a place in a log, though it changes nothing (SELECT)
	KeepsCaching    // of a container: its subcommands leave what CLIENT CACHING said to the next command
)

var flagNames = [...]struct {
	flag Flags
	name string
}{
	{Write, "write"}, {ReadOnly, "readonly"}, {DenyOOM, "denyoom"}, {Admin, "admin"}, {UsesPubSub, "pubsub"},
	{NoScript, "noscript"}, {Blocking, "blocking"}, {Loading, "loading"}, {Stale, "stale"},
	{SkipMonitor, "skip_monitor"}, {SkipSlowlog, "skip_slowlog"}, {Asking, "asking"}, {Fast, "fast"},
	{NoAuth, "no_auth"}, {NoMandatoryKeys, "no_mandatory_keys"}, {NoAsyncLoading, "no_async_loading"},
	{NoMulti, "no_multi"}, {MovableKeys, "movablekeys"}, {AllowBusy, "allow_busy"},
}

// Has reports whether all of want are set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// Names lists the flags as COMMAND INFO prints them.
func (f Flags) Names() []string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}
