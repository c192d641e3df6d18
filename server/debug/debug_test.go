package debug_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// open starts a server that permits DEBUG, and returns a connection to it.
func open(t *testing.T, directives map[string]string) net.Conn {
	t.Helper()
	return openOn(t, nil, directives)
}

// openOn is the same on a server that has that clock; nil: the machine's.
func openOn(t *testing.T, clock server.Clock, directives map[string]string) net.Conn {
	t.Helper()
	srv, err := server.New(server.Options{Clock: clock, Directives: directives})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	conn, err := srv.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// says sends an inline command and requires these bytes as the reply.
func says(t *testing.T, conn net.Conn, line, want string) {
	t.Helper()
	_, err := io.WriteString(conn, line+"\r\n")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	got := make([]byte, len(want))
	n, err := io.ReadFull(conn, got)
	require.NoErrorf(t, err, "%s: %q instead of %q", line, got[:n], want)
	require.Equal(t, want, string(got), line)
}

var allowed = map[string]string{"enable-debug-command": "yes"}

// TestDigestsOfScores: the digests are those of Redis 7.4.1.
func TestDigestsOfScores(t *testing.T) {
	c := open(t, allowed)
	for _, of := range []struct{ score, digest string }{
		{"5000000000", "06870c38943930ae5f7c73f15d837dd3d9a5cc58"},
		{"12345678901", "dda3a928e3b821479da5398b447e633e0dc9cd9a"},
		{"-0", "669bd9943b43e6b31f3ab60847ee6a38dd154aba"},
		{"1e20", "b377665f5bd30745a470a82f5eae12611fe2d854"},
		{"inf", "61a9a206eaf26d298dc4d0f7c1b377be6038b61f"},
		{"-inf", "c882cc3ef9fd5dde1409a63622a944684310008f"},
		{"100000000", "b4ce5f2c55a395a1c2198a4e1afd7646f4ea5658"},
		{"-5000000000", "8735fbdb17a1298c64ac8c1527dbc859155729e5"},
		{"4611686018427387904", "5de93ce2e8672ca03e4f010ac2502d48a580ed3d"},
		{"0.001", "11556a5b16aeef74e382dedad81beed375476409"},
	} {
		says(t, c, "DEL z", ":")
		_, err := c.Read(make([]byte, 3))
		require.NoError(t, err)
		says(t, c, "ZADD z "+of.score+" m", ":1\r\n")
		says(t, c, "DEBUG DIGEST-VALUE z", "*1\r\n+"+of.digest+"\r\n")
	}
}

// The replies are those of Redis 7.4.1 to the same commands in this order.
func TestDigestsAreThoseOfRedis(t *testing.T) {
	c := open(t, allowed)
	says(t, c, "DEBUG DIGEST", "+0000000000000000000000000000000000000000\r\n")
	for _, line := range []string{"SET s v", "SET sx v EX 100", "RPUSH l a b", "SADD st a b", "ZADD z 1.5 a inf b", "HSET h f v g w"} {
		says(t, c, line, map[bool]string{true: "+OK\r\n", false: ":2\r\n"}[strings.HasPrefix(line, "SET")])
	}
	says(t, c, "XADD x 1-2 f v", "$3\r\n1-2\r\n")
	says(t, c, "DEBUG DIGEST-VALUE s sx l st z h x nokey", "*8\r\n"+
		"+d79ee9fe5d5ad902d7f6620efc3b07b75ddd742f\r\n+311b17018163335616e089f6b951c82c477335ac\r\n"+
		"+62f55a532623cf6c3d81081db480b6fd8461eb3f\r\n+dd99329063ca0f1f28df2ac68d94b82fd95501c6\r\n"+
		"+e59228f0b3b4ebae6975e3449a12b75db333f555\r\n+d127864ed50239662bf61bafc9bda63c17da5b37\r\n"+
		"+e447c781d6afa47d4b7e754569e4d422c853f851\r\n+0000000000000000000000000000000000000000\r\n")
	says(t, c, "DEBUG DIGEST", "+e310471afa79481badad0dfc6cee0caf87c41925\r\n")
	says(t, c, "HEXPIRE h 100 FIELDS 1 f", "*1\r\n:1\r\n")
	says(t, c, "DEBUG DIGEST-VALUE h", "*1\r\n+355879033a5e790f0e021f3025ccea7312d9d282\r\n")
	says(t, c, "DEBUG DIGEST-VALUE", "*0\r\n")
}

func TestRepliesOfEveryType(t *testing.T) {
	c := open(t, allowed)
	for _, r := range []struct{ word, two, three string }{
		{"string", "$11\r\nHello World\r\n", "$11\r\nHello World\r\n"},
		{"INTEGER", ":12345\r\n", ":12345\r\n"},
		{"double", "$5\r\n3.141\r\n", ",3.141\r\n"},
		{"bignum", "$37\r\n1234567999999999999999999999999999999\r\n", "(1234567999999999999999999999999999999\r\n"},
		{"null", "$-1\r\n", "_\r\n"},
		{"array", "*3\r\n:0\r\n:1\r\n:2\r\n", "*3\r\n:0\r\n:1\r\n:2\r\n"},
		{"set", "*3\r\n:0\r\n:1\r\n:2\r\n", "~3\r\n:0\r\n:1\r\n:2\r\n"},
		{"map", "*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n", "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"},
		{"attrib", "$39\r\nSome real reply following the attribute\r\n",
			"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n$39\r\nSome real reply following the attribute\r\n"},
		{"push", "-ERR RESP2 is not supported by this command\r\n",
			"$40\r\nSome real reply following the push reply\r\n>2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n"},
		{"verbatim", "$25\r\nThis is a verbatim\nstring\r\n", "=29\r\ntxt:This is a verbatim\nstring\r\n"},
		{"true", ":1\r\n", "#t\r\n"},
		{"false", ":0\r\n", "#f\r\n"},
	} {
		says(t, c, "DEBUG PROTOCOL "+r.word, r.two)
		three := open(t, allowed)
		says(t, three, "CLIENT REPLY SKIP", "") // the reply of HELLO is of no interest
		says(t, three, "HELLO 3", "")
		says(t, three, "DEBUG PROTOCOL "+r.word, r.three)
	}
	says(t, c, "DEBUG PROTOCOL nosuch", "-ERR Wrong protocol type name. Please use one of the following: "+
		"string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false\r\n")
}

// The replies are those of Redis 7.4.1, except a value's address and its table's size.
func TestInsidesOfValues(t *testing.T) {
	c := open(t, map[string]string{"enable-debug-command": "yes", "list-max-listpack-size": "2"})
	says(t, c, "SET s v", "+OK\r\n")
	says(t, c, "RPUSH l a b", ":2\r\n")
	says(t, c, "RPUSH q a b c d e", ":5\r\n")
	says(t, c, "DEBUG OBJECT nokey", "-ERR no such key\r\n")
	says(t, c, "DEBUG OBJECT s", "+Value at:0x0 refcount:1 encoding:embstr serializedlength:2 lru:")
	_, _ = c.Read(make([]byte, 64))
	says(t, c, "DEBUG OBJECT l", "+Value at:0x0 refcount:1 encoding:listpack serializedlength:16 lru:")
	_, _ = c.Read(make([]byte, 64))
	says(t, c, "DEBUG LISTPACK l", "+Listpack structure printed on stdout\r\n")
	says(t, c, "DEBUG LISTPACK s", "-ERR Not a listpack encoded object.\r\n")
	says(t, c, "DEBUG LISTPACK nokey", "-ERR no such key\r\n")
	says(t, c, "DEBUG SDSLEN l", "-ERR Not an sds encoded string.\r\n")
	says(t, c, "DEBUG SDSLEN s", "+key_sds_len:1, key_sds_avail:0, key_zmalloc: 1, val_sds_len:1, val_sds_avail:0, val_zmalloc: 1\r\n")
	says(t, c, "DEBUG HTSTATS x", "-ERR value is not an integer or out of range\r\n")
	says(t, c, "DEBUG HTSTATS 99", "-ERR Out of range database\r\n")
	says(t, c, "DEBUG HTSTATS-KEY s", "-ERR The value stored at the specified key is not represented using an hash table\r\n")
	says(t, c, "SADD t a b c "+strings.Repeat("x", 65), ":4\r\n")
	says(t, c, "DEBUG HTSTATS-KEY t", "$76\r\nHash table 0 stats (main hash table):\n table size: 4\n number of elements: 4\n\r\n")
}

// TestDigestOfWhatIsOverdue: it is there until something removes it, as in Redis.
func TestDigestOfWhatIsOverdue(t *testing.T) {
	clock := server.NewManualClock(time.UnixMilli(1_750_000_000_000))
	c := openOn(t, clock, allowed)
	says(t, c, "DEBUG SET-ACTIVE-EXPIRE 0", "+OK\r\n")
	says(t, c, "SET a 1", "+OK\r\n")
	says(t, c, "SET k v PX 1", "+OK\r\n")
	clock.Advance(5 * time.Millisecond)
	says(t, c, "DEBUG DIGEST", "+818eeae0fa9c3d30a430ba7760b0485202f2f860\r\n")
	says(t, c, "EXISTS k", ":0\r\n")
	says(t, c, "DEBUG DIGEST", "+943d800368fb9c0e951138f1bc0e313ac769d91f\r\n")
}

func TestPopulate(t *testing.T) {
	c := open(t, allowed)
	says(t, c, "SET key:1 mine", "+OK\r\n")
	says(t, c, "DEBUG POPULATE 3", "+OK\r\n")
	says(t, c, "MGET key:0 key:1 key:2 key:3", "*4\r\n$7\r\nvalue:0\r\n$4\r\nmine\r\n$7\r\nvalue:2\r\n$-1\r\n")
	says(t, c, "DEBUG POPULATE 2 a 9", "+OK\r\n")
	says(t, c, "GET a:1", "$9\r\nvalue:1\x00\x00\r\n")
	says(t, c, "DEBUG POPULATE 2 b 3", "+OK\r\n")
	says(t, c, "GET b:1", "$3\r\nval\r\n")
	says(t, c, "DEBUG POPULATE 0", "+OK\r\n")
	says(t, c, "DEBUG POPULATE x", "-ERR value is out of range, must be positive\r\n")
	says(t, c, "DEBUG POPULATE 2 k -1", "-ERR value is out of range, must be positive\r\n")
	says(t, c, "DEBUG POPULATE 2 k 3 4",
		"-ERR unknown subcommand or wrong number of arguments for 'POPULATE'. Try DEBUG HELP.\r\n")
	says(t, c, "DBSIZE", ":7\r\n")
}

func TestWordsOfDebug(t *testing.T) {
	clock := server.NewManualClock(time.UnixMilli(1_750_000_000_000))
	c := openOn(t, clock, allowed)
	says(t, c, `DEBUG ERROR "a b"`, "-a b\r\n")
	says(t, c, "DEBUG ERROR MYCODE", "-MYCODE\r\n")
	says(t, c, "DEBUG LOG hello", "+OK\r\n")
	says(t, c, "DEBUG SLEEP 0", "+OK\r\n")
	says(t, c, "DEBUG SLEEP x", "+OK\r\n")
	says(t, c, "DEBUG SET-ACTIVE-EXPIRE 0", "+OK\r\n")
	says(t, c, "SET k v PX 1", "+OK\r\n")
	clock.Advance(20 * time.Millisecond)
	says(t, c, "DBSIZE", ":1\r\n")
	says(t, c, "DEBUG SET-ACTIVE-EXPIRE 1", "+OK\r\n")
	clock.Advance(0)
	says(t, c, "DBSIZE", ":0\r\n")
	says(t, c, "DEBUG nosuch", "-ERR unknown subcommand or wrong number of arguments for 'nosuch'. Try DEBUG HELP.\r\n")
	says(t, c, "DEBUG help x", "-ERR unknown subcommand or wrong number of arguments for 'help'. Try DEBUG HELP.\r\n")
	says(t, c, "DEBUG HELP", "*")
}

func TestDebugIsRefusedByDefault(t *testing.T) {
	c := open(t, nil)
	says(t, c, "DEBUG DIGEST", "-ERR DEBUG command not allowed.")
}
