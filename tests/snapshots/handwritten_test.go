//go:build oracle

package snapshots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// logOf returns a log of commands; the text has bars between them.
func logOf(text string) string {
	var out []byte
	for line := range strings.SplitSeq(text, "|") {
		var argv [][]byte
		for word := range strings.FieldsSeq(line) {
			argv = append(argv, []byte(strings.ReplaceAll(word, "_", " ")))
		}
		out = resp.AppendCommand(out, argv...)
	}
	return string(out)
}

// handwritten holds logs that Redis loads, in bytes, as an operator may find or write them.
var handwritten = map[string]struct {
	log     string
	refused bool // refused by lockserver: docs/MIGRATION.md says why
}{
	"nothing":                         {log: ""},
	"only annotations":                {log: "#TS:1\r\n#a comment\n"},
	"letters":                         {log: logOf("set b 2|Multi|sEt c 3|exec")},
	"a command that fails":            {log: logOf("SET b 2|LPUSH b x|MULTI|INCR n|LPUSH b x|SET c 3|EXEC")},
	"commands that change nothing":    {log: logOf("SET b 2|GET b|PING|MULTI|GET b|SET c 3|EXEC|WATCH b|UNWATCH|PUBLISH ch x|SPUBLISH ch x|WAIT 0 0")},
	"commands about the server":       {log: logOf("CONFIG SET maxmemory 100mb|ACL SETUSER bob on nopass|CLIENT SETNAME x|HELLO 3|RESET|SET b 2|MONITOR|SUBSCRIBE ch|SET c 3")},
	"scripts":                         {log: logOf("SCRIPT LOAD return_redis.call('set','b','2')|SCRIPT EXISTS ab|SCRIPT FLUSH ASYNC|EVAL return_redis.call('set','b','2') 0|EVAL return_( 0")},
	"what fails of functions":         {log: logOf("FUNCTION LOAD LUA lib code|FCALL nof 0|FUNCTION DELETE nof|FUNCTION STATS|SET b 2")},
	"commands that would wait":        {log: logOf("RPUSH l a b|BLPOP l 0|BLPOP none 0|BRPOPLPUSH l m 0|BZPOPMIN z 0")},
	"deadlines that are over":         {log: logOf("SET b 1 PXAT 1000|SET c 1|PEXPIREAT c 1000|SET d 1|EXPIRE d -1")},
	"streams that go back":            {log: logOf("XADD s 5-1 a 1|XADD s 4-1 a 1|XSETID s 4-1|XGROUP CREATE nos g $")},
	"numbers that overflow":           {log: logOf("SET n 9223372036854775807|INCR n|SETRANGE b 536870912 x|HSET h a x|HINCRBY h a 1|ZADD z inf a|ZINCRBY z -inf a")},
	"a payload for a key that exists": {log: logOf("SET b 2|RESTORE b 0 payload|SET c 3")},
	"a torn end":                      {log: logOf("SET b 2") + logOf("SET c 3")[:11]},
	"a torn transaction":              {log: logOf("SET b 2|MULTI|SET c 3")},

	"a word that is not known":        {log: logOf("SET b 2 NEWWORD"), refused: true},
	"a script that is not known":      {log: logOf("EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"), refused: true},
	"a payload that is not known":     {log: logOf("RESTORE b 0 payload"), refused: true},
	"a database above the limit":      {log: logOf("SELECT 16|SET b 2"), refused: true},
	"too few words":                   {log: logOf("DEL"), refused: true},
	"MULTI in a transaction":          {log: logOf("MULTI|SET b 2|MULTI|SET c 3|EXEC"), refused: true},
	"EXEC without MULTI":              {log: logOf("SET b 2|EXEC"), refused: true},
	"lines without CR":                {log: "*3\n$3\nSET\r\n$1\nb\r\n$1\n2\r\n", refused: true},
	"lengths that begin with 0":       {log: "*03\r\n$03\r\nSET\r\n$1\r\nb\r\n$1\r\n2\r\n", refused: true},
	"arguments without CR LF":         {log: "*3\r\n$3\r\nSETxx$1\r\nb\r\n$1\r\n2\r\n", refused: true},
	"an annotation with a zero in it": {log: "#a\x00b\r\n" + logOf("SET b 2"), refused: true},
}

// TestHandwrittenLogs: a log that Redis loads is loaded here with the same data, or refused for a reason in
// docs/MIGRATION.md (D76, D91).
func TestHandwrittenLogs(t *testing.T) {
	testkit.EachProgram(t, func(t *testing.T, p testkit.Program) {
		for name, c := range handwritten {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				sub := filepath.Join(dir, "appendonlydir")
				require.NoError(t, os.Mkdir(sub, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(sub, "appendonly.aof.manifest"), []byte("file log seq 1 type i\n"), 0o644))
				require.NoError(t, os.WriteFile(filepath.Join(sub, "log"), []byte(logOf("SELECT 0|SET a 1")+c.log), 0o644))
				want := testkit.ReadDataset(startRedis(t, p, copyOf(t, dir), "--appendonly", "yes"))
				srv := newServer(t, dir, "appendonly", "yes")
				if c.refused {
					require.Error(t, srv.Start())
					return
				}
				require.NoError(t, srv.Start())
				requireSame(t, want, testkit.ReadDataset(testkit.Dial(t, srv.Dial)))
			})
		}
	})
}
