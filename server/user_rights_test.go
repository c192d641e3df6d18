package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// as is a connection of a user that is made by rules.
func as(t *testing.T, srv *instance, name string, rules ...string) *testkit.Client {
	t.Helper()
	admin := client(t, srv)
	require.Equal(t, "+OK", admin.Do(append([]string{"ACL", "SETUSER", name, "on", "nopass"}, rules...)...).String())
	c := client(t, srv)
	require.Equal(t, "+OK", c.Do("AUTH", name, "x").String())
	return c
}

// A waiter for a lock that has lost the right to it meanwhile gets an error when its turn comes, and the next
// one gets the lock.
func TestRightLostWhileWaiting(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	admin, next := client(t, srv), client(t, srv)
	ann := as(t, srv, "ann", "~lock:*", "+@lock")
	admin.Do("LOCK", "lock:1", "admin")
	ann.Send("LOCK", "lock:1", "ann", "WAIT", "0")
	awaitParked(t, srv, 1)
	next.Send("LOCK", "lock:1", "next", "WAIT", "0")
	awaitParked(t, srv, 2)
	admin.Do("ACL", "SETUSER", "ann", "resetkeys", "~other:*")
	require.Equal(t, "1", admin.Do("UNLOCK", "lock:1", "admin").String())
	require.Equal(t, "-NOPERM No permissions to access a key", ann.Receive().String())
	require.Positive(t, next.Receive().Int)
	require.Equal(t, "next", admin.Do("LOCK.INFO", "lock:1").Elems[1].Str)
	require.Equal(t, "[]", ann.Do("LOCK.LIST").String())
	checkParking(t, srv)
}

// A user that is deleted is gone from the lock it waits for, and from everything else.
func TestDeletedUser(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	admin := client(t, srv)
	ann := as(t, srv, "ann", "~*", "+@all")
	require.Contains(t, admin.Do("CLIENT", "LIST").Str, " user=ann ")
	admin.Do("LOCK", "k", "admin")
	ann.Send("LOCK", "k", "ann", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, "1", admin.Do("ACL", "DELUSER", "ann").String())
	awaitClosed(t, ann.Conn())
	checkParking(t, srv)

	bob := as(t, srv, "bob", "~*", "+@all")
	require.Equal(t, "1", bob.Do("ACL", "DELUSER", "bob").String(), "it is answered first")
	awaitClosed(t, bob.Conn())
	carl := as(t, srv, "carl", "+@all")
	require.Equal(t, "1", admin.Do("CLIENT", "KILL", "USER", "carl").String())
	awaitClosed(t, carl.Conn())
}

// A subscriber of a channel that is taken away is closed; others stay.
func TestChannelsTakenAway(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	admin := client(t, srv)
	gone, stays := as(t, srv, "ann", "&a*", "&b*", "+@all"), as(t, srv, "ann")
	pattern := as(t, srv, "ann")
	gone.Do("SUBSCRIBE", "a1")
	stays.Do("SUBSCRIBE", "b1")
	pattern.Do("PSUBSCRIBE", "a*")
	require.Equal(t, "-NOPERM No permissions to access a channel", as(t, srv, "ann").Do("SUBSCRIBE", "c").String())
	require.Equal(t, "+OK", admin.Do("ACL", "SETUSER", "ann", "resetchannels", "&b*").String())
	awaitClosed(t, gone.Conn())
	awaitClosed(t, pattern.Conn())
	require.Equal(t, "1", admin.Do("PUBLISH", "b1", "m").String())
	require.Equal(t, "m", stays.Receive().Elems[2].Str)
}

func TestUsersInFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "users.acl")
	require.NoError(t, os.WriteFile(file, []byte("user ann on >pw ~a +get\n"), 0o644))
	srv := startWith(t, Options{}, func(c *config.Config) { c.Dir, c.ACLFile = dir, "users.acl" })
	admin := client(t, srv)
	require.Equal(t, "+OK", client(t, srv).Do("AUTH", "ann", "pw").String())
	require.Equal(t, "+OK", admin.Do("ACL", "SETUSER", "bob", "on").String())
	require.Equal(t, "+OK", admin.Do("ACL", "SAVE").String())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "user bob on sanitize-payload resetchannels -@all\n")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.Remove(file))
	require.Equal(t, "-ERR Error loading ACLs, opening file 'users.acl': No such file or directory", admin.Do("ACL", "LOAD").String())

	srv, err = newInstance(Options{Directives: map[string]string{"dir": dir, "aclfile": "x", "user": "ann on"}})
	require.NoError(t, err)
	require.ErrorContains(t, srv.Start(), "there is an aclfile as well")
	srv, err = newInstance(Options{Directives: map[string]string{"dir": dir, "user": "ann +nosuch"}})
	require.NoError(t, err)
	require.ErrorContains(t, srv.Start(), "Error loading ACL rule '+nosuch' for the user named 'ann'")
}

func TestUsersInTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "lock.conf")
	require.NoError(t, os.WriteFile(file, []byte("user ann on nopass ~a +get\nuser default on >pw ~* &* +@all\n"), 0o644))
	srv := startWith(t, Options{ConfigFile: file}, func(c *config.Config) {
		c.Dir = dir
		c.Users = [][]string{{"ann", "on", "nopass", "~a", "+get"}, {"default", "on", ">pw", "~*", "&*", "+@all"}}
		c.Renames = [][]string{{"FLUSHALL", ""}, {"GET", "fetch"}}
	})
	c := client(t, srv)
	require.Equal(t, "-NOAUTH Authentication required.", c.Do("PING").String())
	require.Equal(t, "+OK", c.Do("AUTH", "pw").String())
	require.Contains(t, c.Do("FLUSHALL").String(), "-ERR unknown command 'FLUSHALL'")
	require.Contains(t, c.Do("GET", "a").String(), "-ERR unknown command 'GET'")
	require.Equal(t, "$nil", c.Do("FETCH", "a").String())
	require.Equal(t, "-ERR wrong number of arguments for 'get' command", c.Do("fetch").String())
	require.Equal(t, "+OK", c.Do("ACL", "SETUSER", "bob", "+get").String(), "rules go by the old name")
	require.Equal(t, "+OK", c.Do("CONFIG", "REWRITE").String())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "user ann on nopass sanitize-payload ~a resetchannels -@all +get\n"+
		"user bob off sanitize-payload resetchannels -@all +get\nuser default on sanitize-payload #")

	_, err = newInstance(Options{Directives: map[string]string{"rename-command": "nosuch x"}})
	require.ErrorContains(t, err, "No such command in rename-command")
	_, err = newInstance(Options{Directives: map[string]string{"rename-command": "get set"}})
	require.ErrorContains(t, err, "Target command name already exists")
}

func TestPermitsSaysWhatAUserMayRun(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	c := testkit.Dial(t, srv.Dial)
	c.Do("ACL", "SETUSER", "half", "on", "nopass", "+lock.info", "+client|id", "~k*")
	require.True(t, srv.Permits("default", "LOCK.FORCE", "x"))
	require.True(t, srv.Permits("half", "LOCK.INFO", "k1"))
	require.True(t, srv.Permits("half", "CLIENT", "ID"))
	for _, command := range [][]string{{"LOCK.INFO", "x"}, {"LOCK.FORCE", "k1"}, {"CLIENT", "LIST"}, {"NONE"}, {"LOCK.INFO"}, {}} {
		require.False(t, srv.Permits("half", command...), command)
	}
	require.False(t, srv.Permits("nobody", "LOCK.INFO", "k1"))
	require.Empty(t, c.Do("ACL", "LOG").Elems)
}

// A user may have rights to some databases only: where it is, or where a transaction or a script has gone.
func TestSomeDatabases(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	admin := client(t, srv)
	ann := as(t, srv, "ann", "~*", "&*", "+@all", "db=1,2")
	const denied = "-NOPERM No permissions to access database"
	ask := func(want string, words ...string) {
		t.Helper()
		require.Equal(t, want, ann.Do(words...).String(), words)
	}
	ask("+PONG", "PING")
	ask(denied, "GET", "k")
	ask(denied, "SELECT", "0")
	ask("-ERR DB index is out of range", "SELECT", "99")
	ask("+OK", "SELECT", "1")
	ask("+OK", "SET", "k", "v")
	ask(denied, "MOVE", "k", "0")
	ask("1", "MOVE", "k", "2")

	ask("+OK", "MULTI")
	ask("+QUEUED", "SELECT", "2")
	ask("+QUEUED", "GET", "k")
	ask(`[+OK "v"]`, "EXEC")
	ask("+OK", "SELECT", "1")
	ask("+OK", "MULTI")
	ask(denied, "SELECT", "3")
	require.Contains(t, ann.Do("EXEC").String(), "-EXECABORT")
	ask("+OK", "MULTI")
	ask("+QUEUED", "SELECT", "2")
	ask("+QUEUED", "GET", "k")
	admin.Do("ACL", "SETUSER", "ann", "db=1")
	require.Contains(t, ann.Do("EXEC").String(), "no permission to access the database")
	admin.Do("ACL", "SETUSER", "ann", "db=1,2")

	require.Contains(t, ann.Do("EVAL", "redis.call('select', 0)", "0").String(), "-ERR ACL failure in script: No permissions to access database")
	ask(`"v"`, "EVAL", "redis.call('select', 2) return redis.call('get', 'k')", "0")
	admin.Do("ACL", "LOG", "RESET")
	ask(denied, "COPY", "k", "l", "DB", "0")
	entry := admin.Do("ACL", "LOG").Elems[0]
	require.Equal(t, "database", entry.Elems[3].Str)
	require.Equal(t, "0", entry.Elems[7].Str)
	require.Contains(t, admin.Do("INFO", "stats").Str, "acl_access_denied_db:7\r\n")

	ann.Send("LOCK", "lock", "ann", "WAIT", "0")
	require.Positive(t, ann.Receive().Int)
	require.Len(t, ann.Do("LOCK.LIST").Elems, 1)
	bob := as(t, srv, "bob", "~*", "+@all", "db=1")
	bob.Do("SELECT", "1")
	bob.Send("LOCK", "lock", "bob", "WAIT", "0")
	awaitParked(t, srv, 1)
	admin.Do("ACL", "SETUSER", "bob", "resetdbs")
	require.Equal(t, "1", ann.Do("UNLOCK", "lock", "ann").String())
	require.Equal(t, denied, bob.Receive().String())
}

// A deadlock cycle is reported without the names of locks that the user may not read.
func TestHiddenLocksOfACycle(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	admin := client(t, srv)
	ann := as(t, srv, "ann", "~open:*", "+@lock")
	ann.Do("LOCK", "open:1", "a")
	admin.Do("LOCK", "hidden", "b")
	admin.Do("LOCK", "open:2", "c")
	waits := func(c *testkit.Client, key, owner string, waiting int) {
		c.Send("LOCK", key, owner, "WAIT", "0")
		awaitParked(t, srv, waiting)
	}
	waits(admin, "open:1", "b", 1)
	waits(client(t, srv), "hidden", "c", 2)
	require.Equal(t, "-DEADLOCK a -> open:2 -> c -> ? -> b -> open:1 -> a", ann.Do("LOCK", "open:2", "a", "WAIT", "0").String())
	require.Equal(t, "[]", ann.Do("LOCK.DEADLOCKS").String())
	cycle := client(t, srv).Do("LOCK.DEADLOCKS").Elems[0].Elems[9].String()
	require.Equal(t, `["a" "open:2" "c" "hidden" "b" "open:1" "a"]`, cycle)
}

// TestPasswordAndUsersFile: requirepass does not count beside an aclfile. A server that would be open all the
// same does not start.
func TestPasswordAndUsersFile(t *testing.T) {
	for text, open := range map[string]bool{
		"":                                      true,
		"user ann on >pw ~* +@all\n":            true,
		"user default on nopass ~* +@all\n":     true,
		"user default on >pw ~* &* +@all\n":     false,
		"user default off nopass ~* &* +@all\n": false,
	} {
		file := filepath.Join(t.TempDir(), "users.acl")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		srv, err := newInstance(Options{Directives: map[string]string{"bind": "", "aclfile": file, "requirepass": "hush"}})
		require.NoError(t, err)
		err = srv.Start()
		if open {
			require.ErrorContains(t, err, "the user default needs no password", text)
			require.ErrorContains(t, err, "user default off", text)
			require.NotContains(t, err.Error(), "hush")
			continue
		}
		require.NoError(t, err, text)
		require.NoError(t, srv.Close())
		srv, err = newInstance(Options{Directives: map[string]string{"bind": "", "aclfile": file}})
		require.NoError(t, err)
		require.NoError(t, srv.Start(), "without requirepass the file says it all")
		require.NoError(t, srv.Close())
	}
}

// TestLoadKeepsThePassword: where requirepass is set, ACL LOAD of a file that would leave the user default
// open changes nothing, and says what to do.
func TestLoadKeepsThePassword(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	const closed = "user default on >pw ~* &* +@all\n"
	write(closed)
	srv := startWith(t, Options{}, func(c *config.Config) { c.ACLFile, c.RequirePass = file, "hush" })
	c := client(t, srv)
	require.Equal(t, "+OK", c.Do("AUTH", "pw").String())
	for _, text := range []string{"", "user ann on >pw ~* +@all\n", "user default on nopass ~* +@all\nuser ann on nopass\n"} {
		write(text)
		reply := c.Do("ACL", "LOAD").String()
		require.Contains(t, reply, "-ERR requirepass is set, but by the aclfile "+file+" the user default needs no password", text)
		require.Contains(t, reply, "user default off", text)
		require.NotContains(t, reply, "hush")
		require.Contains(t, client(t, srv).Do("PING").String(), "-NOAUTH", text)
		require.True(t, c.Do("ACL", "GETUSER", "ann").IsNull(), "none of the file is taken")
	}
	write(closed + "user ann on nopass\n")
	require.Equal(t, "+OK", c.Do("ACL", "LOAD").String())
	require.False(t, c.Do("ACL", "GETUSER", "ann").IsNull())

	write("user default on nopass ~* &* +@all\n")
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "requirepass", "").String())
	require.Equal(t, "+OK", c.Do("ACL", "LOAD").String(), "without requirepass the file says it all")
	require.Equal(t, "+PONG", client(t, srv).Do("PING").String())
}
