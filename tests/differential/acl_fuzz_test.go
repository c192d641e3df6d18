//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// Rules are drawn from these words: most of them valid, some odd. Both servers have the commands and
// categories here, with the same commands in each category. Rules about databases (D15) are not included,
// because the oracle has none.
var (
	ruleWords = []string{"on", "off", "nopass", "resetpass", "reset", "allkeys", "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands",
		"clearselectors", "sanitize-payload", "skip-sanitize-payload", "ON", "", ">pw", ">other", "<pw", "<other", "!x", "#x", "~", "~*", "~a*", "~b", "~a?[bc]",
		"%R~a*", "%W~b*", "%RW~c*", "%rw~d", "%R~", "%X~a", "%RR~a", "%R~*", "&", "&*", "&c*", "&news.*", "& x", "~a b", "+get", "-get", "+GET", "+set", "-set",
		"+mget", "+del", "+copy", "+object", "-object", "+object|freq", "-object|freq", "+OBJECT|encoding", "+acl", "-acl|list", "+config|get", "+select|0", "+select|1",
		"+SELECT|2", "-select", "-select|0", "+get|a", "+config|nosuch", "+config|get|x", "+nosuch", "-nosuch", "+get|", "+|", "+", "-", "@all", "+@all", "-@all",
		"+@read", "-@read", "+@write", "-@write", "+@string", "-@list", "+@keyspace", "-@dangerous", "+@admin", "+@pubsub", "+@nosuch", "+@", "-@READ", "+@fast",
		"(+get ~a)", "(+@read %R~b* &x)", "(", "(+set", "~b)", ")", "()", "(+nosuch)", "((+get)", "(nopass)", "+psync", "-migrate", "junk", "~a\x00b", "on\x00x",
		"+publish", "+subscribe", "+psubscribe", "+eval", "+blpop", "+sort", "+exec", "+multi"}
	aclKeys     = []string{"a", "ab", "abc", "b", "bc", "c1", "d", "x", "", "*"}
	aclChannels = []string{"c", "c1", "news.x", "x", "c*", ""}
)

// aclCalls lists the calls of users; K stands for a key, C for a channel.
var aclCalls = []string{"GET K", "SET K v", "SET K v GET", "MGET K K", "MSET K 1 K 2", "DEL K K", "COPY K K", "RENAME K K", "APPEND K v", "GETDEL K", "STRLEN K",
	"OBJECT ENCODING K", "OBJECT FREQ K", "EXISTS K K", "TYPE K", "EXPIRE K 100", "PERSIST K", "BITOP AND K K K", "LMOVE K K LEFT LEFT", "ZUNIONSTORE K 2 K K",
	"ZUNION 2 K K", "SINTERSTORE K K K", "SORT K", "SORT K STORE K", "SORT K BY x*", "SORT K GET #", "GEOADD K 1 1 m", "GEORADIUS K 1 1 1 m STORE K",
	"XADD K 1-1 f v", "XREAD STREAMS K K 0 0", "XREADGROUP GROUP g c STREAMS K >", "SELECT 0", "SELECT 1", "CONFIG GET maxmemory", "PUBLISH C m", "SPUBLISH C m",
	"EVAL return{redis.pcall(unpack(ARGV))} 1 K GET K", "EVAL return{redis.pcall(unpack(ARGV))} 0 SET K v", "EVAL return{redis.acl_check_cmd(unpack(ARGV))} 0 MGET K K",
	"LPOS K x", "BLMPOP 0.01 1 K LEFT", "LCS K K", "PING", "ECHO x", "ACL WHOAMI", "FCALL nosuch 1 K", "GETEX K", "GETEX K EX 100", "PFCOUNT K K", "PFADD K x",
	"SETRANGE K 1 x", "GETRANGE K 0 1", "BITFIELD K GET u8 0", "BITFIELD K SET u8 0 1", "HSET K f v", "HGETALL K", "SMOVE K K m", "WATCH K", "UNWATCH", "TOUCH K K",
	"UNLINK K", "INCR K", "DECRBY K 2", "SINTERCARD 2 K K", "SUBSTR K 0 1", "LINSERT K BEFORE a b"}

// TestRules gives a user random rules on both servers. It compares the description of the user and the
// results of random commands. They run by DRYRUN, alone and in a transaction; the log of refusals is
// compared, too.
func TestRules(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 15))
	p := startPair(t, "")
	same := func(args ...string) resp.Value {
		t.Helper()
		ours, redis := p.do(args...)
		require.Equal(t, redis.String(), ours.String(), "seed %d: %s", seed, line(args))
		return ours
	}
	for n := 0; n < *commandsFlag; {
		p.begin(2 + chance.IntN(2))
		for range 20 {
			n += changeUser(p, chance, same)
			same("AUTH", "u", "any")
			n += tryCommands(p, chance, same)
			same("AUTH", "default", "any")
			n += compareLogs(p, same)
		}
	}
}

func word(chance *rand.Rand, of []string) string { return of[chance.IntN(len(of))] }

// changeUser sets rules and compares the users afterwards. It returns the number of commands for that.
func changeUser(p *pair, chance *rand.Rand, same func(...string) resp.Value) int {
	for range 1 + chance.IntN(4) {
		args := []string{"ACL", "SETUSER", "u"}
		for range 1 + chance.IntN(5) {
			args = append(args, word(chance, ruleWords))
		}
		same(args...)
	}
	same("ACL", "LIST")
	same("ACL", "GETUSER", "u")
	same("ACL", "SETUSER", "u", "on", "nopass", "+client|no-touch")
	return 5
}

// aclCall returns one of aclCalls with names filled in.
func aclCall(chance *rand.Rand) []string {
	args := strings.Fields(word(chance, aclCalls))
	for i, a := range args {
		switch a {
		case "K":
			args[i] = word(chance, aclKeys)
		case "C":
			args[i] = word(chance, aclChannels)
		}
	}
	return args
}

// tryCommands sends commands as the authenticated user.
func tryCommands(p *pair, chance *rand.Rand, same func(...string) resp.Value) int {
	n := 0
	for ; n < 40; n++ {
		args := aclCall(chance)
		switch chance.IntN(8) {
		case 0:
			for _, s := range p.sides() {
				s.watch.Send(append([]string{"ACL", "DRYRUN", "u"}, args...)...)
			}
			ours, redis := p.ours.watch.Receive(), p.redis.watch.Receive()
			require.Equal(p.t, redis.String(), ours.String(), "DRYRUN %s", line(args))
		case 1:
			same("MULTI")
			same(args...)
			same("EXEC")
		default:
			same(args...)
		}
	}
	return n
}

// compareLogs compares the logs of refusals, and empties them. The user default is authenticated.
func compareLogs(p *pair, same func(...string) resp.Value) int {
	same("SELECT", "0")
	same("UNWATCH")
	var logs [2]string
	for i, s := range p.sides() {
		logs[i] = aclLog(s.watch.Do("ACL", "LOG", "30"))
		s.watch.Do("ACL", "LOG", "RESET")
	}
	require.Equal(p.t, logs[1], logs[0])
	return 8
}

// aclLog returns ACL LOG without times, numbers and addresses.
func aclLog(v resp.Value) string {
	var b strings.Builder
	for _, e := range v.Elems {
		for i := 0; i+1 < len(e.Elems); i += 2 {
			switch name := e.Elems[i].Str; name {
			case "count", "reason", "context", "object", "username":
				fmt.Fprintf(&b, "%s=%s ", name, e.Elems[i+1])
			case "client-info":
				_, rest, _ := strings.Cut(e.Elems[i+1].Str, " cmd=")
				cmd, _, _ := strings.Cut(rest, " redir")
				fmt.Fprintf(&b, "cmd=%s ", cmd)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
