package commands

import (
	"slices"

	"lockserver/store"
)

// Row states one command. The exported fields are written by hand in a family's table; [NewTable] derives
// everything else from them. It works on copies: a literal row is never changed.
type Row struct {
	// Name is the command's name in lower case, without the container's: "list" for CLIENT LIST.
	Name  string
	Group Group
	// Since is the version of Redis that brought the command, or, for native ones, of lockserver.
	Since string
	// Summary is one sentence in our own words; redis-cli shows it as help.
	Summary    string
	Complexity string
	// Deprecated is the version that deprecated the command, or empty; ReplacedBy says what to use instead.
	Deprecated, ReplacedBy string
	Flags                  Flags
	// SysCmd says in the documentation that the command is not for applications.
	SysCmd bool
	// Cats are ACL categories beyond those that follow from Group and Flags.
	Cats Category
	Args []Arg
	// Run executes the command. It is nil only for a container that cannot be called without a subcommand.
	Run func(*Ctx) error
	// Sub are the subcommands of a container (CLIENT, CONFIG, ...). HELP is added to them by the table.
	Sub []Row
	// HelpSince is the version that brought the container's HELP; empty: the one that brought the container.
	HelpSince string
	// Tips are hints for proxies and clients, such as "nondeterministic_output".
	Tips []string
	// MinArgs, if not 0, is the minimum number of words of a call, including the name, and the arity is
	// -MinArgs. It is for the few commands with an arity other than their grammar's, because in Redis they
	// check more themselves (QUIT, CLIENT KILL).
	MinArgs int
	// Inner, if not 0, is the index of the word where an inner command begins (GUARD). Its keys are also keys
	// of the call.
	Inner int
	// Code says what the first argument of a command that runs a script stands for.
	Code Code
	// FindKeys reports the keys of a call if its grammar does not determine their positions or their access
	// (SORT ... STORE, SET ... GET). It appends to dst and returns false if the arguments are malformed.
	FindKeys func(args [][]byte, dst []KeyRef) ([]KeyRef, bool)
	// Channels says which words of a call are names of channels, for those who may use some of them only.
	Channels Channels
	// Databases are those that a call uses, for those who may use some of them only.
	Databases Databases
	// Implied, if not nil, calls visit for each key that a call uses without naming it, in any order, until
	// visit returns false: SECKILL's follow from the voucher. A key is valid during the call of visit only.
	Implied func(db *store.DB, args [][]byte, visit func(key []byte, use KeyFlags) bool)
	// Secrets, if not nil, reports the places of the passwords among the words of a call, which neither
	// MONITOR nor SLOWLOG shows. It appends to dst.
	Secrets func(args [][]byte, dst []int) []int

	derived
}

// Code is how a command names the script that it runs.
type Code uint8

// How a command names its script.
const (
	NoCode       Code = iota // it runs none
	ScriptText               // by its text (EVAL)
	ScriptSHA1               // by the digest of a text that is known (EVALSHA)
	FunctionName             // by the name of a function in a library (FCALL)
)

// Channels are the words of a call that name channels: one word at First, or all from there on; First is 0 if
// there are none. UNSUBSCRIBE has none here, because it is always permitted.
type Channels struct {
	First   int
	Many    bool
	Pattern bool // they are patterns (PSUBSCRIBE)
}

// Databases are the databases that a call uses. One on keys, or on a keyspace, uses that of the connection.
type Databases struct {
	// Named, if not nil, reports the places of the words of a call that are numbers of databases (MOVE). It
	// appends to dst.
	Named func(args [][]byte, dst []int) []int
	// All: it uses all that there are (FLUSHALL).
	All bool
	// NotOwn: it does not use the connection's, though it changes a keyspace (SWAPDB).
	NotOwn bool
}

// derived is what the table works out for a row. Arity follows Redis' convention: the exact number of words,
// command and subcommand included, or, negative, the least number.
type derived struct {
	fullName string // "client|list"
	parent   *Row
	arity    int
	keys     []KeySpec
	legacy   legacyRange
	cats     Category
	subs     []*Row
	words    []string // option words, upper case
	index    int
	first    int // place of the first key among the words of every call, 0: the row alone does not tell
	member   int // of the first member or field behind the only key, 0: there is none
	removes  bool
	ownDB    bool // it uses the connection's database
}

// Redact hides the passwords in a call. It copies argv only if there are any.
func (r *Row) Redact(argv [][]byte) [][]byte {
	if r.Secrets == nil {
		return argv
	}
	secret := r.Secrets(argv, nil)
	if secret == nil {
		return argv
	}
	argv = slices.Clone(argv)
	for _, i := range secret {
		argv[i] = []byte("(redacted)")
	}
	return argv
}

// Index is a number below Table.Size that only this row has, subcommands included.
func (r *Row) Index() int { return r.index }

// FullName is the name with its container's before it: "client|list".
func (r *Row) FullName() string { return r.fullName }

// Parent is the container of a subcommand, nil for a command.
func (r *Row) Parent() *Row { return r.parent }

// Arity is the number of words of a call, command and subcommand names included;
// negative: at least that many.
func (r *Row) Arity() int { return r.arity }

// Keys are the derived key specifications. The slice belongs to the table and must not be changed.
func (r *Row) Keys() []KeySpec { return r.keys }

// UsesOwnDB reports whether a call uses the database of the connection that makes it.
func (r *Row) UsesOwnDB() bool { return r.ownDB }

// Categories are all ACL categories of the command.
func (r *Row) Categories() Category { return r.cats }

// Subcommands are the derived rows of a container, HELP included. The slice belongs to the table.
func (r *Row) Subcommands() []*Row { return r.subs }

// Words are the option words of the grammar in upper case, in the order of their first appearance. The slice
// belongs to the table.
func (r *Row) Words() []string { return r.words }

// Accepts reports whether a call of argc words, names included, satisfies the arity.
func (r *Row) Accepts(argc int) bool {
	if r.arity >= 0 {
		return argc == r.arity
	}
	return argc >= -r.arity
}

// nameWords is how many words of a call the name takes: 1, or 2 for a subcommand.
func (r *Row) nameWords() int {
	if r.parent != nil {
		return 2
	}
	return 1
}

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
