package commands

// Error texts about users.
const (
	ErrUserName            Error = "ERR Usernames can't contain spaces or null characters"
	ErrDefaultUser         Error = "ERR The 'default' user cannot be removed"
	ErrNoACLFile           Error = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."
	ErrACLSave             Error = "ERR There was an error trying to save the ACLs. Please check the server logs for more information"
	ErrNoKeyPermission     Error = "NOPERM No permissions to access a key"
	ErrNoChannelPermission Error = "NOPERM No permissions to access a channel"
	ErrNoDBPermission      Error = "NOPERM No permissions to access database"
	ErrSortByDenied        Error = "ERR BY option of SORT denied due to insufficient ACL permissions."
	ErrSortGetDenied       Error = "ERR GET option of SORT denied due to insufficient ACL permissions."
)

// ErrNoCommandPermission says that a user may not run a command.
func ErrNoCommandPermission(user, command string) Error {
	return quoted("NOPERM User ", []byte(user), " has no permissions to run the '"+command+"' command")
}

// ErrScriptDenied says why a script may not run a command; reason is the client's text.
func ErrScriptDenied(reason string) Error {
	return oneLine([]byte("ERR ACL failure in script: " + reason))
}

// ErrExecDenied says that a right was taken away between MULTI and EXEC.
func ErrExecDenied(reason string) Error {
	return Error("NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + reason)
}

// ErrUserNotFound names the unknown user of ACL DRYRUN.
func ErrUserNotFound(user []byte) Error { return quoted("ERR User '", user, "' not found") }

// ErrCommandNotFound names the unknown command of ACL DRYRUN.
func ErrCommandNotFound(name []byte) Error { return quoted("ERR Command '", name, "' not found") }

// ErrUserRule says what is wrong with one rule of ACL SETUSER.
func ErrUserRule(rule []byte, reason string) Error {
	return quoted("ERR Error in ACL SETUSER modifier '", rule, "': "+reason)
}

// ErrUserParenthesis names the word with a parenthesis that is not closed.
func ErrUserParenthesis(word []byte) Error {
	return quoted("ERR Unmatched parenthesis in acl selector starting at '", word, "'.")
}

// ErrACLLoad is all that is wrong with an ACL file.
func ErrACLLoad(reasons string) Error { return oneLine([]byte("ERR " + reasons)) }
