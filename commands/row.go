package commands

import (
	"slices"

	"lockserver/store"
)

// Row describes one command. The exported fields are written by hand in the table of its family; [NewTable]
// derives everything else from them. It works on copies: a literal row is never changed.
type Row struct {
	// Name is the command's name in lower case, without the container's: "list" for CLIENT LIST.
	Name  string
	Group Group
	// Since is the version of Redis that added the command. For native commands it is the version of
	// lockserver.
	Since string
	// Summary is one sentence in our own words; redis-cli shows it as help.
	Summary    string
	Complexity string
	// Deprecated is the version that deprecated the command, or empty; ReplacedBy names the replacement.
	Deprecated, ReplacedBy string
	Flags                  Flags
	// SysCmd marks a command that is not for applications, in the documentation.
	SysCmd bool
	// Cats holds the ACL categories that do not follow from Group and Flags.
	Cats Category
	Args []Arg
	// Run executes the command. It is nil only for a container that needs a subcommand.
	Run func(*Ctx) error
	// Sub holds the subcommands of a container (CLIENT, CONFIG, ...). The table adds HELP to them.
	Sub []Row
	// HelpSince is the version that added the container's HELP, or empty if the container always had it.
	HelpSince string
	// Tips holds hints for proxies and clients, such as "nondeterministic_output".
	Tips []string
	// MinArgs, if not 0, is the least number of words of a call, including the name, and the arity is
	// -MinArgs. It is for commands with an arity that does not follow from the grammar: in Redis they check
	// more themselves (QUIT, CLIENT KILL).
	MinArgs int
	// Inner, if not 0, is the index of the first word of an inner command (GUARD). The keys of that command
	// are keys of the call, too.
	Inner int
	// Code says what the first argument means for a command that runs a script.
	Code Code
	// FindKeys reports the keys of a call if its grammar does not determine their positions or their access
	// (SORT ... STORE, SET ... GET). It appends to dst and returns false if the arguments are malformed.
	FindKeys func(args [][]byte, dst []KeyRef) ([]KeyRef, bool)
	// Channels says which words of a call are names of channels. It is for users who may use only some
	// channels.
	Channels Channels
	// Databases says which databases a call uses. It is for users who may use only some databases.
	Databases Databases
	// Implied, if not nil, calls visit for each key that a call uses without naming it, in any order, until
	// visit returns false. An example is SECKILL: its keys follow from the voucher. A key is valid only
	// during the call of visit.
	Implied func(db *store.DB, args [][]byte, visit func(key []byte, use KeyFlags) bool)
	// Secrets, if not nil, reports the indexes of the words of a call that are passwords. MONITOR and SLOWLOG
	// do not show these words. It appends to dst.
	Secrets func(args [][]byte, dst []int) []int

	derived
}

// Code says how a command names the script that it runs.
type Code uint8

// The ways to name a script.
const (
	NoCode       Code = iota // the command runs no script
	ScriptText               // by its text (EVAL)
	ScriptSHA1               // by the digest of a known text (EVALSHA)
	FunctionName             // by the name of a function in a library (FCALL)
)

// Channels says which words of a call name channels: the word at First, or all words from there on. First is
// 0 if no word does. UNSUBSCRIBE has no channels here, because it is always permitted.
type Channels struct {
	First   int
	Many    bool
	Pattern bool // they are patterns (PSUBSCRIBE)
}

// Databases says which databases a call uses. By default a command on keys, or on a keyspace, uses that of
// the connection.
type Databases struct {
	// Named, if not nil, reports the indexes of the words of a call that are numbers of databases (MOVE). It
	// appends to dst.
	Named func(args [][]byte, dst []int) []int
	// All means that the command uses all databases (FLUSHALL).
	All bool
	// NotOwn means that the command does not use the database of the connection, though it changes a keyspace
	// (SWAPDB).
	NotOwn bool
}

// derived holds what the table derives for a row. Arity follows Redis' convention: it is the exact number of
// words including command and subcommand, or the least number as a negative number.
type derived struct {
	fullName string // "client|list"
	parent   *Row
	arity    int
	keys     []KeySpec
	legacy   legacyRange
	cats     Category
	subs     []*Row
	words    []string // option words in upper case
	index    int
	first    int // index of the first key in every call, or 0 if it depends on the arguments
	sole     int // see RoutedBy
	member   int // index of the first member or field after the only key, or 0
	removes  bool
	ownDB    bool // it uses the connection's database
}

// Redact replaces the passwords in a call. It copies argv only if there is a password.
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

// Index returns the number of the row, which is unique among rows and subcommands and less than Table.Size.
func (r *Row) Index() int { return r.index }

// FullName returns the name with that of its container before it: "client|list".
func (r *Row) FullName() string { return r.fullName }

// Parent returns the container of a subcommand, or nil.
func (r *Row) Parent() *Row { return r.parent }

// Arity returns the number of words of a call, including the names of command and subcommand. A negative
// number means at least that number of words.
func (r *Row) Arity() int { return r.arity }

// Keys returns the derived key specifications. The slice belongs to the table and must not be changed.
func (r *Row) Keys() []KeySpec { return r.keys }

// UsesOwnDB reports whether a call uses the database of the connection that makes it.
func (r *Row) UsesOwnDB() bool { return r.ownDB }

// Categories returns all ACL categories of the command.
func (r *Row) Categories() Category { return r.cats }

// Subcommands returns the derived rows of a container, including HELP. The slice belongs to the table.
func (r *Row) Subcommands() []*Row { return r.subs }

// Words returns the option words of the grammar in upper case, in the order of their first appearance. The
// slice belongs to the table.
func (r *Row) Words() []string { return r.words }

// Accepts reports whether a call of argc words, including the names, satisfies the arity.
func (r *Row) Accepts(argc int) bool {
	if r.arity >= 0 {
		return argc == r.arity
	}
	return argc >= -r.arity
}

// nameWords returns the number of words in the name: 1, or 2 for a subcommand.
func (r *Row) nameWords() int {
	if r.parent != nil {
		return 2
	}
	return 1
}

// Flags are properties of a command for the executor, the ACL or clients.
type Flags uint32

// The flags, in the order in which Redis prints them. MovableKeys is derived, and a row must not set it.
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
	MayReplicate                           // is replicated though it is no write (PUBLISH); not printed
	NoMandatoryKeys                        // may be called without any key
	NoAsyncLoading                         // refused while a replica loads new data and serves its old data
	NoMulti                                // not allowed inside MULTI
	MovableKeys                            // derived: the positions of the keys depend on the arguments
	AllowBusy                              // allowed while a script runs too long
	TouchesArbitraryKeys                   // may change keys that it does not name (FLUSHALL, SWAPDB); not printed
	Immediate                              // runs at once between MULTI and EXEC instead of being queued; not printed

	// Flags of only a few commands; not printed, either.

	RunsQueue       // runs the queued commands, and is checked by their flags (EXEC)
	WhileSubscribed // allowed for a RESP2 client with subscriptions
	Protected       // refused unless enable-debug-command allows it (DEBUG)
	NeedsDisk       // refused while the log cannot be written, though it is no write (PING, which monitors send)
	InLog           // is written to a log, though it changes nothing (SELECT)
	KeepsCaching    // of a container: its subcommands do not consume the setting of CLIENT CACHING
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

// Names returns the flags as COMMAND INFO prints them.
func (f Flags) Names() []string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}
