package commands

import (
	"strconv"
	"strings"
)

// The texts that clients see about scripts and functions, byte for byte those of Redis 7.4. In a script the
// text of a refused call is the same, with the code ERR before it.
const (
	ErrNoSuchScript    Error = "NOSCRIPT No matching script. Please use EVAL."
	ErrKeysSign        Error = "ERR Number of keys can't be negative"
	ErrBusyScript      Error = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	ErrBusyFunction    Error = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
	ErrNoScriptRuns    Error = "NOTBUSY No scripts in execution right now."
	ErrUnkillable      Error = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
	ErrMasterScript    Error = "UNKILLABLE The busy script was sent by a master instance in the context of replication and cannot be killed."
	ErrScriptFlush     Error = "ERR SCRIPT FLUSH only support SYNC|ASYNC option"
	ErrScriptDebug     Error = "ERR Use SCRIPT DEBUG YES/SYNC/NO"
	ErrNoDebugger      Error = "ERR scripts cannot be debugged here"           // ours
	ErrNoMessage       Error = "ERR the script raised an error without a text" // ours; Redis crashes
	ErrScriptKilled    Error = "ERR Script killed by user with SCRIPT KILL..."
	ErrScriptStopped   Error = "ERR the server is ending" // ours
	ErrLoadTimeout     Error = "ERR FUNCTION LOAD timeout"
	ErrScriptReadOnly  Error = "ERR Can not execute a script with write flag using *_ro command."
	ErrScriptFull      Error = "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
	ErrScriptStale     Error = "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and 'allow-stale' flag is not set on the script."
	ErrScriptOnReplica Error = "READONLY Can not run script with write flag on readonly replica"
	ErrShebang         Error = "ERR Invalid script shebang"
	ErrShebangEngine   Error = "ERR Invalid engine in script shebang"

	// The texts for a call of a script that is refused.
	ErrCallArguments  Error = "ERR Please specify at least one argument for this redis lib call"
	ErrCallTypes      Error = "ERR Lua redis lib command arguments must be strings or integers"
	ErrCallUnknown    Error = "ERR Unknown Redis command called from script"
	ErrCallArity      Error = "ERR Wrong number of args calling Redis command from script"
	ErrCallReadOnly   Error = "ERR Write commands are not allowed from read-only scripts."
	ErrCallStale      Error = "ERR Can not execute the command on a stale replica"
	ErrReplyArguments Error = "ERR wrong number or type of arguments"
	ErrReplyDepth     Error = "ERR reached lua stack limit"

	// Functions.
	ErrNoFunction       Error = "ERR Function not found"
	ErrNoLibrary        Error = "ERR Library not found"
	ErrFunctionKeys     Error = "ERR Bad number of keys provided"
	ErrFunctionFlush    Error = "ERR FUNCTION FLUSH only supports SYNC|ASYNC option"
	ErrFunctionPolicy   Error = "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."
	ErrLibraryArgument  Error = "ERR library name argument was not given"
	ErrLibraryName      Error = "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"
	ErrLibraryNoName    Error = "ERR Library name was not given"
	ErrLibraryNameTwice Error = "ERR Invalid metadata value, name argument was given multiple times"
	ErrLibraryNoShebang Error = "ERR Missing library metadata"
	ErrLibraryShebang   Error = "ERR Invalid library metadata"
	ErrLibraryEmpty     Error = "ERR No functions registered"
	ErrFunctionTwice    Error = "ERR Function already exists in the library"
	ErrFunctionPayload  Error = "ERR given type is not a function"
	ErrFunctionPreGA    Error = "ERR Pre-GA function format not supported"
	ErrFunctionBroken   Error = "ERR failed loading the given functions payload"
)

// ErrScriptEngine names an engine other than lua in a script's first line.
func ErrScriptEngine(word string) Error {
	return quoted("ERR Unexpected engine in script shebang: ", []byte(word), "")
}

// ErrScriptFlag names a flag in a script's first line that is unknown.
func ErrScriptFlag(word string) Error {
	return quoted("ERR Unexpected flag in script shebang: ", []byte(word), "")
}

// ErrScriptOption names an option in a script's first line that is unknown.
func ErrScriptOption(word string) Error {
	return quoted("ERR Unknown lua shebang option: ", []byte(word), "")
}

// ErrScriptCompile says why a script cannot be compiled.
func ErrScriptCompile(cause string) Error {
	return quoted("ERR Error compiling script (new function): ", []byte(cause), "")
}

// ErrFunctionCompile says why a library cannot be compiled.
func ErrFunctionCompile(cause string) Error {
	return quoted("ERR Error compiling function: ", []byte(cause), "")
}

// ErrFunctionRegister says how running a library's code, which registers its functions, failed.
func ErrFunctionRegister(cause string) Error {
	return quoted("ERR Error registering functions: ", []byte(cause), "")
}

// ErrLibraryEngine names an engine that functions cannot be written for.
func ErrLibraryEngine(name string) Error { return quoted("ERR Engine '", []byte(name), "' not found") }

// ErrLibraryExists names a library that FUNCTION LOAD would have to replace.
func ErrLibraryExists(name string) Error {
	return quoted("ERR Library '", []byte(name), "' already exists")
}

// ErrLibraryCollision names a library that FUNCTION RESTORE would have to replace.
func ErrLibraryCollision(name string) Error {
	return quoted("ERR Library ", []byte(name), " already exists")
}

// ErrFunctionExists names a function that another library has.
func ErrFunctionExists(name string) Error {
	return quoted("ERR Function ", []byte(name), " already exists")
}

// ErrLibraryOption names a word in a library's first line that is unknown.
func ErrLibraryOption(word string) Error {
	return quoted("ERR Invalid metadata value given: ", []byte(word), "")
}

// ErrFunctionOption names an option of FUNCTION LOAD that is unknown.
func ErrFunctionOption(word []byte) Error { return quoted("ERR Unknown option given: ", word, "") }

// ErrFunctionArgument names an argument of FUNCTION LIST that is unknown.
func ErrFunctionArgument(word []byte) Error { return quoted("ERR Unknown argument ", word, "") }

// ErrScriptDisk is the disk error that blocks all writes, in the words for a script that is not started
// because of it.
func ErrScriptDisk(cause error) Error {
	const blocked = "but it's currently unable to persist to disk. Writable scripts are blocked. Use 'no-writes' flag for read only scripts."
	if reason, ok := strings.CutPrefix(cause.Error(), string(ErrLogFailed(""))); ok {
		return Error("MISCONF Redis is configured to persist data to AOF, " + blocked + " AOF error: " + reason)
	}
	return "MISCONF Redis is configured to save RDB snapshots, " + blocked
}

// ErrScriptFailed adds to what a script failed with which script it was, and where: the source, as Lua names
// it, and the line, or neither if that is not known.
func ErrScriptFailed(message, script, source string, line int) Error {
	if source == "" {
		return Error(message)
	}
	if source[0] != '=' {
		source = "@" + source
	}
	var b strings.Builder
	b.WriteString(message + " script: " + script + ", on " + source + ":")
	b.WriteString(strconv.Itoa(line))
	b.WriteByte('.')
	return Error(b.String())
}
