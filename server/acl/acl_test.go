package acl

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/tests/tabletest"
)

// house is a server with users and without connections.
type house struct {
	users   *Users
	checker *Checker
	table   *commands.Table
	asking  *User
	moved   []Change
	path    string
	file    string
	fault   error // of reading and writing the file
	db      *store.DB
}

func newHouse() *house {
	h := &house{db: store.New(4, store.Limits{}).DB(0)}
	publish := commands.Row{Name: "publish", Group: commands.PubSub, Since: "2.0.0", Flags: commands.UsesPubSub, Summary: "S.", Complexity: "O(1)",
		Channels: commands.Channels{First: 1}, Run: func(*commands.Ctx) error { return nil },
		Args: []commands.Arg{commands.Str("channel"), commands.Str("message")}}
	listen := publish
	listen.Name, listen.Channels = "psubscribe", commands.Channels{First: 1, Many: true, Pattern: true}
	listen.Args = []commands.Arg{commands.Pattern("pattern").Many()}
	h.table = commands.NewTable(append(commands.Families(), Rows(func(*commands.Ctx) Directory { return h }), []commands.Row{publish, listen})...)
	h.users, h.checker = NewUsers(h.table), NewChecker(h.table)
	h.users.Configure(false, 128)
	h.asking = h.users.Default()
	return h
}

func (h *house) Users() *Users           { return h.users }
func (h *house) Checker() *Checker       { return h.checker }
func (h *house) Asking() *User           { return h.asking }
func (h *house) Move(c Change)           { h.moved = append(h.moved, c) }
func (h *house) Lookup() *commands.Table { return h.table }
func (h *house) File() string            { return h.path }
func (h *house) PasswordSet() bool       { return false }
func (h *house) Shared() bool            { return false }
func (h *house) Agree(*commands.Ctx, func(*Users) error, func(*commands.Ctx)) error {
	panic("the users are no group's")
}
func (h *house) ReadFile() (string, error) { return h.file, h.fault }
func (h *house) WriteFile(s string) error {
	if h.fault == nil {
		h.file = s
	}
	return h.fault
}

// ask runs a command, and returns what is answered, as text.
func (h *house) ask(t testing.TB, words ...string) string {
	t.Helper()
	return tabletest.Reply(t, 3, func(argv [][]byte, out *resp.Writer) error {
		row, err := h.table.Resolve(argv)
		if err != nil {
			return err
		}
		return row.Run(&commands.Ctx{Argv: argv, Row: row, Table: h.table, Out: out, DB: h.db})
	}, words...).String()
}

const hashOfSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"

// described makes a user by rules, and returns its line in ACL LIST.
func described(t *testing.T, rules ...string) string {
	t.Helper()
	h := newHouse()
	answer := h.ask(t, append([]string{"ACL", "SETUSER", "u"}, rules...)...)
	if answer != "+OK" {
		return answer
	}
	return h.users.Find([]byte("u")).rules.String()
}

func TestRules(t *testing.T) {
	const fresh = "off sanitize-payload resetchannels -@all"
	for rules, want := range map[string]string{
		"":                               fresh,
		"on nopass":                      "on nopass sanitize-payload resetchannels -@all",
		"ON >secret >secret":             "on sanitize-payload #" + hashOfSecret + " resetchannels -@all",
		">secret <secret":                fresh,
		">secret !" + hashOfSecret:       fresh,
		">a nopass #" + hashOfSecret:     "off sanitize-payload #" + hashOfSecret + " resetchannels -@all",
		"~a ~b ~a %R~c %W~c %w~d %r~e":   "off sanitize-payload ~a ~b ~c %W~d %R~e resetchannels -@all",
		"allkeys &x &y &x":               "off sanitize-payload ~* resetchannels &x &y -@all",
		"allchannels +@all -@admin +get": "off sanitize-payload &* +@all -@admin +get",
		"+@read -get +get +ACL|CAT":      "off sanitize-payload resetchannels -@all +@read +get +acl|cat",
		"+acl|cat +acl|list -acl":        "off sanitize-payload resetchannels -@all -acl",
		"+select|0 +ping|X +select|0":    "-ERR Error in ACL SETUSER modifier '+select|0': Unknown command or category name in ACL",
		"+get|0 +get|1":                  "off sanitize-payload resetchannels -@all +get|0 +get|1",
		"+psync +migrate +replconf":      "off sanitize-payload resetchannels -@all +psync +migrate +replconf",
		"(+get ~a) (+@write %W~b)":       "off sanitize-payload resetchannels -@all (~a resetchannels -@all +get) (%W~b resetchannels -@all +@write)",
		"(+get ~a) clearselectors ()":    "off sanitize-payload resetchannels -@all (resetchannels -@all)",
		"on ~* +@all (+get) reset":       fresh,
		"skip-sanitize-payload":          "off skip-sanitize-payload resetchannels -@all",
		"+@lock +@sale":                  "off sanitize-payload resetchannels -@all +@lock +@sale",
		"~a db=1,0,1":                    "off sanitize-payload ~a resetchannels db=0,1 -@all",
		"DB=9 &x db=2 (+get DB=3)":       "off sanitize-payload resetchannels &x db=2 -@all (resetchannels db=3 -@all +get)",
		"resetdbs (+get) +@all":          "off sanitize-payload resetchannels resetdbs +@all (resetchannels -@all +get)",
		"db=1 AllDBs":                    fresh,
		"db=1 reset":                     fresh,
		"db=2147483647":                  "off sanitize-payload resetchannels db=2147483647 -@all",
		"db=2147483648":                  "-ERR Error in ACL SETUSER modifier 'db=2147483648': The provided database ID is out of range",
		"db=-1":                          "-ERR Error in ACL SETUSER modifier 'db=-1': The provided database ID is out of range",
		"db=":                            "-ERR Error in ACL SETUSER modifier 'db=': Syntax error",
		"db=0,":                          "-ERR Error in ACL SETUSER modifier 'db=0,': Syntax error",
		"db=a":                           "-ERR Error in ACL SETUSER modifier 'db=a': Syntax error",
		"nosuch":                         "-ERR Error in ACL SETUSER modifier 'nosuch': Syntax error",
		"%R":                             "off sanitize-payload %R~ resetchannels -@all",
		"%":                              "-ERR Error in ACL SETUSER modifier '%': Syntax error",
		"%RR~a":                          "-ERR Error in ACL SETUSER modifier '%RR~a': Syntax error",
		"~* ~a":                          "-ERR Error in ACL SETUSER modifier '~a': " + errKeyAfterAll.Error(),
		"&* &a":                          "-ERR Error in ACL SETUSER modifier '&a': " + errChanAfterAll.Error(),
		"<a":                             "-ERR Error in ACL SETUSER modifier '<a': " + errNoSuchPassword.Error(),
		"#abc":                           "-ERR Error in ACL SETUSER modifier '#abc': " + errPasswordHash.Error(),
		"+@nosuch":                       "-ERR Error in ACL SETUSER modifier '+@nosuch': " + errRuleName.Error(),
		"+acl|nosuch":                    "-ERR Error in ACL SETUSER modifier '+acl|nosuch': " + errRuleName.Error(),
		"+acl|cat|x":                     "-ERR Error in ACL SETUSER modifier '+acl|cat|x': " + errFirstArg.Error(),
		"+get|":                          "-ERR Error in ACL SETUSER modifier '+get|': Syntax error",
		"(+get ~a":                       "-ERR Unmatched parenthesis in acl selector starting at '(+get'.",
		"(+nosuch)":                      "-ERR Error in ACL SETUSER modifier '(+nosuch)': " + errRuleName.Error(),
	} {
		require.Equal(t, want, described(t, strings.Fields(rules)...), rules)
	}
}

// A rule that is refused leaves the user as it was.
func TestAllRulesOrNone(t *testing.T) {
	h := newHouse()
	require.Equal(t, "+OK", h.ask(t, "ACL", "SETUSER", "u", "on", "~a"))
	before := h.ask(t, "ACL", "LIST")
	require.Contains(t, h.ask(t, "ACL", "SETUSER", "u", "~b", "+get", "nonsense"), "-ERR Error in ACL SETUSER")
	require.Equal(t, before, h.ask(t, "ACL", "LIST"))
	require.Equal(t, "-ERR Usernames can't contain spaces or null characters", h.ask(t, "ACL", "SETUSER", "a b"))
	require.Equal(t, `["default" "u"]`, h.ask(t, "ACL", "USERS"))
	require.Equal(t, `"default"`, h.ask(t, "ACL", "WHOAMI"))
	require.Equal(t, "-"+string(commands.ErrDefaultUser), h.ask(t, "ACL", "DELUSER", "u", "default"))
	require.Equal(t, "1", h.ask(t, "ACL", "DELUSER", "u", "nosuch"))
	require.Equal(t, "nil", h.ask(t, "ACL", "GETUSER", "u"))
	require.Nil(t, h.moved[len(h.moved)-1].New)
}

func TestGetUser(t *testing.T) {
	h := newHouse()
	h.ask(t, "ACL", "SETUSER", "u", "on", ">secret", "+get", "%R~a", "~b", "&c", "(+set ~d)")
	require.Equal(t, `{"flags":~["on" "sanitize-payload"] "passwords":["`+hashOfSecret+`"] "commands":"-@all +get" "keys":"%R~a ~b" `+
		`"channels":"&c" "selectors":[{"commands":"-@all +set" "keys":"~d" "channels":""}]}`, h.ask(t, "ACL", "GETUSER", "u"))
}

// GETUSER shows databases only for a user with a rule about them; otherwise the reply is that of Redis 7.4.
func TestGetUserOfSomeDatabases(t *testing.T) {
	h := newHouse()
	h.ask(t, "ACL", "SETUSER", "u", "db=1,2", "(+set ~d)", "(resetdbs)")
	require.Equal(t, `{"flags":~["off" "sanitize-payload"] "passwords":[] "commands":"-@all" "keys":"" "channels":"" "databases":"db=1,2" `+
		`"selectors":[{"commands":"-@all +set" "keys":"~d" "channels":"" "databases":"alldbs"} `+
		`{"commands":"-@all" "keys":"" "channels":"" "databases":""}]}`, h.ask(t, "ACL", "GETUSER", "u"))
}

// dry returns the reply of ACL DRYRUN for a user with these rules.
func dry(t *testing.T, rules, command string) string {
	h := newHouse()
	require.Equal(t, "+OK", h.ask(t, append([]string{"ACL", "SETUSER", "u"}, strings.Fields(rules)...)...), rules)
	return h.ask(t, append([]string{"ACL", "DRYRUN", "u"}, strings.Fields(command)...)...)
}

func TestWhatAUserMayRun(t *testing.T) {
	command := func(name string) string { return `"User u has no permissions to run the '` + name + `' command"` }
	key := func(name string) string { return `"User u has no permissions to access the '` + name + `' key"` }
	database := func(name string) string { return `"User u has no permissions to access database ` + name + `"` }
	channel := func(name string) string { return `"User u has no permissions to access the '` + name + `' channel"` }
	for _, c := range []struct{ rules, command, want string }{
		{"+@all ~*", "GET k", "+OK"},
		{"+get ~a*", "GET ab", "+OK"},
		{"+get ~a*", "GET b", key("b")},
		{"+get ~a*", "SET ab v", command("set")},
		{"+@all %R~a", "GET a", "+OK"},
		{"+@all %R~a", "SET a v", key("a")},
		{"+@all %W~a", "SET a v", "+OK"},
		{"+@all %W~a", "SET a v GET", key("a")},
		{"+@all %W~a %R~b", "COPY b a", "+OK"},
		{"+@all %W~a %R~b", "COPY a b", key("a")},
		{"+@all ~a ~b", "MSET a 1 b 2 c 3", key("c")},
		{"+@all (~a +get) (~b +set)", "GET b", key("b")},
		{"+@all ~c (~a +get) (~b +set)", "SET b v", "+OK"},
		{"-@all +get|a ~*", "GET a", "+OK"},
		{"-@all +get|a ~*", "GET b", command("get")},
		{"+acl|cat", "ACL CAT", "+OK"},
		{"+acl|cat", "ACL LIST", command("acl|list")},
		{"+@lock ~m*", "MLOCK 2 ma mb o", "+OK"},
		{"+@lock ~m*", "MLOCK 2 ma b o", key("b")},
		{"+@all ~m*", "GUARD ma 1 GET mb", "+OK"},
		{"+@all ~m*", "GUARD a 1 GET mb", key("a")},
		{"+@all ~m*", "GUARD ma 1 GET b", key("b")},
		{"+guard ~m*", "GUARD ma 1 GET mb", command("get")},
		{"+@sale ~seckill:*:v ~stream.orders*", "SECKILL v u o", "+OK"},
		{"+@sale ~seckill:*:v", "SECKILL v u o", key("stream.orders")},
		{"+@sale ~seckill:*:v", "SECKILL w u o", key("seckill:stock:w")},
		{"+@sale ~seckill:*:v %R~stream.orders", "SECKILL.INFO v", "+OK"},
		{"+@sale ~seckill:*:v ~mine*", "SECKILL.CREATE v STOCK 1 STREAM mine", "+OK"},
		{"+@sale ~seckill:*:v ~mine*", "SECKILL.CREATE v STOCK 1 REPLACE STREAM yours", key("yours")},
		{"+@sale ~icr:n:*", "NEXTID n", "+OK"},
		{"+@sale ~icr:m:*", "NEXTID n", key("icr:n:1970:01:01")},
		{"+@all ~a", "XREADGROUP GROUP g c STREAMS a b 1 2", key("b")},
		{"+publish &c*", "PUBLISH cd x", "+OK"},
		{"+publish &c*", "PUBLISH d x", channel("d")},
		{"+psubscribe &c*", "PSUBSCRIBE c*", "+OK"},
		{"+psubscribe &c*", "PSUBSCRIBE c* cd", channel("cd")},
		{"+@all ~* db=0,1", "GET k", "+OK"},
		{"+@all ~* db=1", "Get k", database("Get")},
		{"+@all ~* resetdbs", "EXISTS k l", database("EXISTS")},
		{"+@all ~* db=1", "PUBLISH c x", channel("c")},
		{"+@all ~* db=1", "ACL WHOAMI", "+OK"},
		{"+@all ~* db=1", "DBSIZE", database("DBSIZE")},
		{"+@all ~* db=1", "SCAN 0", database("SCAN")},
		{"+@all ~* db=1", "FLUSHDB", database("FLUSHDB")},
		{"+@all ~* db=1", "LOCK.LIST", database("LOCK.LIST")},
		{"+@all ~* db=1", "SECKILL v u o", database("SECKILL")},
		{"+@all ~* db=0,1,2,3", "FLUSHALL", database("FLUSHALL")},
		{"+@all ~* db=0,1", "SWAPDB 0 1", "+OK"},
		{"+@all ~* db=1,2", "SWAPDB 1 2", "+OK"},
		{"+@all ~* db=0,1", "SWAPDB 0 2", database("2")},
		{"+@all ~* db=0,1", "SWAPDB 3 2", database("3")},
		{"+@all ~* db=0,1", "MOVE k 1", "+OK"},
		{"+@all ~* db=0,1", "MOVE k 2", database("2")},
		{"+@all ~* db=1", "MOVE k 1", database("MOVE")},
		{"+@all ~* db=0,1", "COPY k l DB 1", "+OK"},
		{"+@all ~* db=0,1", "COPY k l DB 1 REPLACE db 2", database("2")},
		{"+@all ~* db=0,1", "COPY k l DB 2 DB 1", database("2")},
		{"+@all ~* db=1", "COPY k l", database("COPY")},
		{"+@all ~* db=0", "MOVE k 99", "+OK"}, // refused as for any other user
		{"+@all ~* db=0", "GUARD k 1 MOVE k 1", database("1")},
		{"+@all ~* db=1 (+get ~k)", "GET k", "+OK"},
		{"+@all ~* db=1 (+get ~k)", "SET k v", command("set")},
		{"+@all ~* db=1 (+@all ~k)", "SET l v", key("l")},
		{"+@all", "NOSUCH", "-ERR Command 'NOSUCH' not found"},
		{"+@all", "GET", "-ERR wrong number of arguments for 'get' command"},
	} {
		require.Equal(t, c.want, dry(t, c.rules, c.command), "%s: %s", c.rules, c.command)
	}
	require.Equal(t, "-ERR User 'eve' not found", newHouse().ask(t, "ACL", "DRYRUN", "eve", "GET", "k"))
}

// Check allows each command that a shortcut lets pass, with any words.
func TestShortcuts(t *testing.T) {
	chance := rand.New(rand.NewPCG(15, 15))
	words := []string{"a", "ab", "b", "bc", "abcdefgh", "abcdefghi", "", "GET", "STORE", "1", "0", "IFEQ"}
	for _, rules := range []string{"+@all ~a* ~b", "+@all %R~a* %W~b*", "+get +set ~abcdefgh* (+@write ~b) (+@read %R~a ~abcdefghi)", "+@all ~* -get &a",
		"+@all ~a*c ~?b* &a*", "+@all ~* (&a)", "+@read ~[a]* ~abcdefg\\h*", "-@all", "+@all ~a* db=0"} {
		h := newHouse()
		h.ask(t, append([]string{"ACL", "SETUSER", "u"}, strings.Fields(rules)...)...)
		u := h.users.Find([]byte("u"))
		passed := 0
		for _, row := range h.table.Rows() {
			for range 40 {
				argv := [][]byte{[]byte(row.Name)}
				for n := max(row.Arity(), -row.Arity()) + chance.IntN(3); len(argv) < n; {
					argv = append(argv, []byte(words[chance.IntN(len(words))]))
				}
				if row.Accepts(len(argv)) && u.Passes(row, argv) {
					passed++
					require.Zero(t, h.checker.Check(u, h.db, row, argv).Reason, "%s: %q", rules, argv)
				}
			}
		}
		require.Equal(t, rules != "-@all" && !strings.Contains(rules, "db="), passed > 0, rules)
	}
}

func TestUnrestricted(t *testing.T) {
	for rules, want := range map[string]bool{
		"+@all ~* &*": true, "+@all -get +get ~* &*": true, "+@all ~*": false, "+@all -get ~* &*": false, "+@all -acl|list ~* &*": false,
		"+@all ~* &* db=0,1,2,3": false, "+@all ~* &* db=0 (+@all ~* &*)": true, "+@all ~* &* db=0 alldbs": true,
		"(+@all ~* &*)": true, "+@all (~* &*)": false,
	} {
		h := newHouse()
		h.ask(t, append([]string{"ACL", "SETUSER", "u"}, strings.Fields(rules)...)...)
		require.Equal(t, want, h.users.Find([]byte("u")).Unrestricted, rules)
	}
}

func TestLogin(t *testing.T) {
	h := newHouse()
	h.ask(t, "ACL", "SETUSER", "u", "on", ">one", ">two")
	h.ask(t, "ACL", "SETUSER", "off", "nopass")
	in := func(name, password string) bool { return h.users.LogIn([]byte(name), []byte(password)) != nil }
	require.True(t, in("u", "one") && in("u", "two") && in("default", "any"))
	require.False(t, in("u", "three") || in("nobody", "one") || in("off", "x"))
	h.users.SetDefaultPassword("secret")
	require.True(t, in("default", "secret") && !in("default", "any") && !h.users.Default().Open())
	h.users.SetDefaultPassword("")
	require.True(t, h.users.Default().Open())
}

// The log groups what is alike for a minute, forgets what is too much, and counts on.
func TestLog(t *testing.T) {
	h := newHouse()
	h.users.Configure(false, 2)
	u := h.users.Default()
	refuse := func(object string, atMS int64) {
		d := Denial{Reason: DeniedKey, Object: []byte(object)}
		h.users.Refuse(u, &d, TopLevel, atMS, func() string { return "id=1" })
	}
	refuse("a", 1000)
	refuse("b", 2000)
	refuse("a", 3000)
	objects := func() string {
		var b strings.Builder
		for i := range h.users.Log.entries {
			e := &h.users.Log.entries[i]
			b.WriteString(e.object + string(rune('0'+e.count)) + string(rune('0'+e.id)) + " ")
		}
		return b.String()
	}
	require.Equal(t, "b11 a20 ", objects())
	refuse("a", 64000)
	require.Equal(t, "a20 a12 ", objects())
	h.users.RefuseLogin([]byte("eve"), []byte("AUTH"), InMulti, 64000, func() string { return "id=2" })
	h.db.Store().SetNow(64_500_000)
	require.Equal(t, `[{"count":1 "reason":"auth" "context":"multi" "object":"AUTH" "username":"eve" "age-seconds":,0.5 `+
		`"client-info":"id=2" "entry-id":3 "timestamp-created":64000 "timestamp-last-updated":64000}]`,
		h.ask(t, "ACL", "LOG", "1"))
	require.EqualValues(t, 4, h.users.Log.Denied[DeniedKey])
	require.Equal(t, "+OK", h.ask(t, "ACL", "LOG", "reset"))
	require.Equal(t, "[]", h.ask(t, "ACL", "LOG"))
	require.Equal(t, "-"+string(commands.ErrNotInteger), h.ask(t, "ACL", "LOG", "x"))
	require.Equal(t, "[]", h.ask(t, "ACL", "LOG", "-1"))
}

func TestFile(t *testing.T) {
	h := newHouse()
	require.Equal(t, "-"+string(commands.ErrNoACLFile), h.ask(t, "ACL", "SAVE"))
	require.Equal(t, "-"+string(commands.ErrNoACLFile), h.ask(t, "ACL", "LOAD"))
	h.path = "users.acl"
	h.ask(t, "ACL", "SETUSER", "u", "on", ">secret", "+get", "~a", "&c", "(+set ~b)")
	require.Equal(t, "+OK", h.ask(t, "ACL", "SAVE"))
	saved := h.ask(t, "ACL", "LIST")
	u, standard := h.users.Find([]byte("u")), h.users.Default()
	h.ask(t, "ACL", "SETUSER", "u", "allchannels", "off")
	h.ask(t, "ACL", "SETUSER", "other")
	h.moved = nil
	require.Equal(t, "+OK", h.ask(t, "ACL", "LOAD"))
	require.Equal(t, saved, h.ask(t, "ACL", "LIST"))
	require.Same(t, standard, h.users.Default())
	require.Len(t, h.moved, 3)
	for _, c := range h.moved {
		switch c.Old.name {
		case "u":
			require.Same(t, u, c.Old)
			require.Same(t, h.users.Find([]byte("u")), c.New)
			require.True(t, c.Left.Allows([]byte("c"), false) && !c.Left.Allows([]byte("d"), false))
		case "other":
			require.Nil(t, c.New)
		default:
			require.Same(t, c.Old, c.New)
		}
	}
	h.file = "user default off\n\nusr x\nuser u +nosuch +neither nonsense more\nuser u on\nuser (\nuser b (+get\n"
	require.Equal(t, "-ERR users.acl:3 should start with user keyword followed by the username. "+
		"users.acl:4: Error in applying operation '+nosuch': Unknown command or category name in ACL. "+
		"users.acl:4: Error in applying operation '+neither': Unknown command or category name in ACL. users.acl:4: Syntax error. "+
		"WARNING: Duplicate user 'u' found on line 5. users.acl:7: Unmatched parenthesis in selector definition."+
		"WARNING: ACL errors detected, no change to the previously active ACL rules was performed", h.ask(t, "ACL", "LOAD"))
	require.Equal(t, saved, h.ask(t, "ACL", "LIST"))
	h.file = "\n"
	require.Equal(t, "+OK", h.ask(t, "ACL", "LOAD"))
	require.Equal(t, `["user default on nopass sanitize-payload ~* &* +@all"]`, h.ask(t, "ACL", "LIST"))
	h.fault = errors.New("No such file or directory")
	require.Equal(t, "-ERR Error loading ACLs, opening file 'users.acl': No such file or directory", h.ask(t, "ACL", "LOAD"))
	require.Equal(t, "-"+string(commands.ErrACLSave), h.ask(t, "ACL", "SAVE"))
}

func TestDeclare(t *testing.T) {
	h := newHouse()
	disabled, err := h.users.Declare([][]string{{"alice", "on", ">a b", "(+get", "~a)"}, {"bob"}, {"default", "on", ">x", "+get"}})
	require.NoError(t, err)
	require.Equal(t, []string{"bob"}, disabled)
	require.NotNil(t, h.users.LogIn([]byte("alice"), []byte("a b")))
	require.Equal(t, "default on sanitize-payload #"+hashOf("x")+" resetchannels -@all +get", h.users.Lines()[2])
	for want, lines := range map[string][][]string{
		"Duplicate user found":  {{"a"}, {"a"}},
		"Spaces not allowed":    {{"a b"}},
		"Unmatched parenthesis": {{"a", "(+get"}},
		"Error loading ACL rule '(hidden)' for the user named 'a': Syntax error":       {{"a", "on", "hush"}},
		"Error loading ACL rule '(hidden)' for the user named 'a': The password":       {{"a", "<hush"}},
		"Error loading ACL rule '(hidden)' for the user named 'a': The password hash ": {{"a", "#hush"}},
		"Error loading ACL rule '+nosuch' ":                                            {{"a", "+nosuch"}},
	} {
		_, err := newHouse().users.Declare(lines)
		require.ErrorContains(t, err, want)
	}
}

func TestCategories(t *testing.T) {
	h := newHouse()
	require.Contains(t, h.ask(t, "ACL", "CAT"), `"lock" "sale"`)
	require.Contains(t, h.ask(t, "ACL", "CAT", "LOCK"), `"unlock"`)
	require.Equal(t, "-"+commands.ErrCategory([]byte("nosuch")).Error(), h.ask(t, "ACL", "CAT", "nosuch"))
}

func TestGenPass(t *testing.T) {
	h := newHouse()
	seen := map[string]bool{}
	for bits, digits := range map[string]int{"": 64, "1": 1, "4": 1, "5": 2, "13": 4, "128": 32, "4096": 1024} {
		args := []string{"ACL", "GENPASS"}
		if bits != "" {
			args = append(args, bits)
		}
		got := h.ask(t, args...)
		require.Len(t, got, digits+2) // in quotes
		require.Regexp(t, regexp.MustCompile(`^"[0-9a-f]+"$`), got)
	}
	for range 10 {
		seen[h.ask(t, "ACL", "GENPASS")] = true
	}
	require.Len(t, seen, 10, "each is another")
	for _, bits := range []string{"0", "-1", "4097"} {
		require.Equal(t, "-"+string(commands.ErrPasswordBits), h.ask(t, "ACL", "GENPASS", bits))
	}
	require.Equal(t, "-"+string(commands.ErrNotInteger), h.ask(t, "ACL", "GENPASS", "x"))
}
