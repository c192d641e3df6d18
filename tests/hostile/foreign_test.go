package hostile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// foreignKinds lists the native values into which the test writes by hand. made has the commands that create
// a value, keys its keys.
var foreignKinds = []struct{ name, made, keys string }{
	{"lock", "LOCK k a PX 60000", "k"},
	{"lock held twice", "LOCK k a PX 60000; LOCK k a PX 60000", "k"},
	{"renewed lock", "LOCK k a", "k"},
	{"shared lock", "LOCK k a SHARED PX 60000; LOCK k b SHARED PX 50000", "k"},
	{"shared lock of one", "LOCK k a SHARED PX 60000", "k"},
	{"renewed shared lock", "LOCK k a SHARED; LOCK k b SHARED PX 50000", "k"},
	{"upgraded lock", "LOCK k a SHARED PX 60000; LOCK k a PX 60000", "k"},
	{"lock by a script", "HSET k u:1 1; PEXPIRE k 60000", "k"},
	{"readers by a script", "LOCK k a SHARED PX 60000; HINCRBY k u:1 1; SET {k}:u:1:rwlock_timeout:1 1 PX 60000", "k {k}:u:1:rwlock_timeout:1"},
	{"fair lock", "LOCK k a PX 60000; RPUSH redisson_lock_queue:{k} u:1; ZADD redisson_lock_timeout:{k} 1750000060000 u:1", "k redisson_lock_queue:{k} redisson_lock_timeout:{k}"},
	{"fenced lock", "SET redisson_lock_token:{k} 5; LOCK k a PX 60000", "k redisson_lock_token:{k}"},
	{"queued waits", "LOCK k a PX 60000; LOCK k w PX 60000 WAIT 0 NOTIFY", "k"},
	{"semaphore", "SEM.ACQUIRE k a LIMIT 5 PERMITS 2 PX 60000; SEM.ACQUIRE k b PX 50000", "k"},
	{"semaphore of one", "SEM.ACQUIRE k a LIMIT 5 PERMITS 2 PX 60000", "k"},
	{"queued waits for permits", "SEM.ACQUIRE k a LIMIT 2 PERMITS 2 PX 60000; SEM.ACQUIRE k w PX 60000 WAIT 0 NOTIFY", "k"},
	{"latch", "LATCH.SET k 3", "k"},
	{"limiter", "LIMIT.TAKE k 5 10 1000", "k"},
	{"queued waits with priorities", "LOCK k a PX 60000; LOCK k w PX 60000 WAIT 0 PRIORITY 2 NOTIFY; LOCK k v SHARED PX 60000 WAIT 0 PRIORITY 9 NOTIFY", "k"},
	{"limiters of one call", "LIMIT.MTAKE 2 k 5 10 1000 other 5 10 60000", "k other"},
	{"recurring entries", "DELAY.ADD k PX 60000 EVERY 70000 TIMES 3 ID one f v; DELAY.ADD k CRON 0~9~*~*~* ID more f v", "{k}:delayed {k}:delayed:entries k"},
	{"delayed entries", "DELAY.ADD k PX 60000 ID one ONCE r f v; DELAY.ADD k PX 60000 ID more f v", "{k}:delayed {k}:delayed:entries {k}:delayed:requests k"},
	{"sale", "SECKILL.CREATE k STOCK 10 LIMIT 3 HOLD 60000 RATE 5 1000 BURST 5; SECKILL k ann o1 QTY 2; SECKILL k ben o2; SECKILL k carl o3; SECKILL.CONFIRM k carl o3", saleForeignKeys},
	{"sale by a script", "SET seckill:stock:k 10; SECKILL k ann o1", saleForeignKeys},
}

const saleForeignKeys = "seckill:stock:k seckill:order:k seckill:sale:k seckill:orders:k seckill:pieces:k seckill:rates:k seckill:holds:k stream.orders stream.orders:cancelled"

// foreignCommands lists the native commands that are called after each write by hand.
var foreignCommands = strings.Split(`LOCK.INFO k
LOCK.INFO k COUNT 1
LOCK.LIST
LOCK.LIST OWNER zed
LOCK.WAITERS
LOCK.HISTORY k
LOCK.STATS
LOCK.HOT
LOCK.DEADLOCKS
SEM.INFO k
SEM.INFO k COUNT 1
LATCH.GET k
LATCH.WAIT k
DELAY.LIST k
DELAY.COUNT k
DELAY.GET k one
DELAY.GET k zed
SECKILL.INFO k
SECKILL.LIST 0
GUARD k 1 GET x
RENEW k zed PX 9000
RENEW k a PX 9000
SEM.RENEW k zed PX 9000
SEM.RENEW k a PX 9000
SEM.RESIZE k 4
UNLOCK k zed
UNLOCK k zed SHARED
SEM.RELEASE k zed
LOCK.ASK k REASON deploy
LOCK.FORCE k OWNER zed
LOCK k zed PX 1000
LOCK k zed SHARED PX 1000
LOCK k a PX 60000
LOCK k a SHARED PX 60000
MLOCK 2 k other a PX 60000
MUNLOCK 2 k other a
LOCK k q PX 60000 WAIT 0 NOTIFY
LOCK k s SHARED PX 60000 WAIT 0 NOTIFY
LOCK.CANCEL k q
LOCK.CANCEL k s
LOCK k p PX 60000 WAIT 0 PRIORITY 9 NOTIFY
MLOCK 2 k other m PX 60000 WAIT 0 PRIORITY 4 NOTIFY
LOCK.CANCEL k p
LOCK.CANCEL k m
SEM.ACQUIRE k zed PX 1000
SEM.ACQUIRE k zed LIMIT 5 PX 1000
SEM.ACQUIRE k c INITIAL 5 PERMITS 2 PX 1000
SEM.ACQUIRE k q INITIAL 5 PERMITS 4 PX 1000 WAIT 0 NOTIFY
SEM.ACQUIRE k p PERMITS 2 PX 1000 WAIT 0 PRIORITY 7 NOTIFY
SEM.RELEASE k a PERMITS 1
LOCK.CANCEL k p
LOCK.CANCEL k q
LATCH.SET k 2
LATCH.DOWN k
LIMIT.TAKE k 5 10 1000
LIMIT.TAKE k 5 10 1000 COST 0
LIMIT.TAKE k 5 10 1000 COST 9 WAIT 1000
LIMIT.MTAKE 2 k 5 10 1000 other 5 10 60000
LIMIT.MTAKE 2 other 5 10 60000 k 3 9 1000 COST 3
LIMIT.MTAKE 1 k 5 10 1000 COST 0
LIMIT.GIVE k 5 10 1000
LIMIT.GIVE k 3 9 1000 COST 3
CL.THROTTLE k 5 10 1
DELAY.ADD k PX 1000 ID two f v
DELAY.ADD k PX 60000 ID one ONCE r f v
DELAY.ADD k PX 60000 ID one f v
DELAY.ADD k EVERY 50000 TIMES 2 ID one f v
DELAY.ADD k CRON 30~*~*~*~* TZ Europe/Berlin MISSED ALL ID three f v
DELAY.MOVE k one PX 5
DELAY.CANCEL k more
DELAY.CANCEL k zed
SECKILL k ann o1
SECKILL k ann o7
SECKILL k zed o9 QTY 2
SECKILL.CONFIRM k ann o1
SECKILL.CANCEL k ben o2
SECKILL.CANCEL k zed o9
SECKILL.CANCEL k ann o1 QTY 1
SECKILL.EXTEND k ann o1 70000
SECKILL.CART ann o8 1 k 1
SECKILL.RESTOCK k 1
SECKILL.RESTOCK k -1
UNLOCK k a
SEM.RELEASE k a
LOCK.FORCE k
SECKILL.CREATE k STOCK 3
SECKILL.CREATE k STOCK 3 REPLACE`, "\n")

// foreignValues returns values that no command of the server writes there. Some of them look as if one had.
func foreignValues() []string {
	values := []string{"x", "0", "9223372036854775807", "$5:1:1"}
	if testkit.Long() {
		values = append(values, "''", "-1", "1", "1.5", "9223372036854775808", "$0:1:0", "$5:0:0", "$9007199254740991:1:0", "a0,1:f1:v,", "held 1 ann", "read")
	}
	return values
}

// foreignWrites returns the writes by hand into a key, depending on its value.
func foreignWrites(c *testkit.Client, key string) (writes []string) {
	switch kind := c.Do("TYPE", key).Str; kind {
	case "hash":
		fields := []string{"zed", "mode", "$token", "$watchdog", "$mode", "$limit", "$readers"}
		for _, field := range c.Do("HKEYS", key).Elems {
			fields = append(fields, field.Str)
		}
		slices.Sort(fields)
		for _, field := range slices.Compact(fields) {
			for _, value := range foreignValues() {
				writes = append(writes, fmt.Sprintf("HSET %s %s %s", key, field, value))
			}
			writes = append(writes, fmt.Sprintf("HDEL %s %s", key, field), fmt.Sprintf("HINCRBY %s %s 1", key, field), fmt.Sprintf("HPEXPIRE %s 1000 FIELDS 1 %s", key, field),
				fmt.Sprintf("HPERSIST %s FIELDS 1 %s", key, field), fmt.Sprintf("HSET %s %s x; HPEXPIRE %s 1000 FIELDS 1 %s", key, field, key, field),
				fmt.Sprintf("HSETEX %s KEEPTTL FIELDS 1 %s x", key, field))
		}
	case "zset":
		for _, member := range c.Do("ZRANGE", key, "0", "-1").Elems {
			for _, score := range []string{"-inf", "0", "-1", "1.5", "1e300", "inf"} {
				writes = append(writes, fmt.Sprintf("ZADD %s %s %s", key, score, member.Str))
			}
			writes = append(writes, fmt.Sprintf("ZREM %s %s", key, member.Str))
		}
		for _, member := range []string{"''", "x", "a0:", "a0:zed", "a9:one", "b10:zed", "z1:q", "o9", "zed:o9"} {
			writes = append(writes, fmt.Sprintf("ZADD %s 0 %s", key, member), fmt.Sprintf("ZADD %s 1750000001000 %s", key, member), fmt.Sprintf("ZADD %s inf %s", key, member))
		}
	case "set":
		writes = append(writes, "SADD "+key+" zed", "SREM "+key+" ann", "SADD "+key+" ''")
	case "list":
		writes = append(writes, "RPUSH "+key+" zed", "LPUSH "+key+" zed a ''", "LPOP "+key)
	case "stream":
		writes = append(writes, "XADD "+key+" * f v", "XTRIM "+key+" MAXLEN 0", "XADD "+key+" 18446744073709551615-18446744073709551615 f v", "XGROUP CREATE "+key+" g 0")
	case "none":
		writes = append(writes, "RPUSH "+key+" zed", "SADD "+key+" zed", "ZADD "+key+" 0 zed", "XADD "+key+" * f v", "HSET "+key+" zed 1", "HSET "+key+" ann 1", "HSET "+key+" o9 x")
	}
	for _, value := range foreignValues() {
		writes = append(writes, "SET "+key+" "+value)
	}
	return append(writes, "DEL "+key, "PERSIST "+key, "PEXPIRE "+key+" 1000", "APPEND "+key+" x", "INCRBY "+key+" 1000000")
}

// wordsOf returns the words of a line; two quotes mean an empty word, and ~ means a space within a word.
func wordsOf(line string) []string {
	words := strings.Fields(line)
	for i := range words {
		if words[i] == "''" {
			words[i] = ""
		}
		words[i] = strings.ReplaceAll(words[i], "~", " ")
	}
	return words
}

// foreignTest finds replies of one server that contradict each other.
type foreignTest struct {
	*testing.T
	c      *testkit.Client
	wrong  map[string][]string // by fault: where it was found
	at     string
	digest string // of the data
}

func (f *foreignTest) fault(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	f.wrong[what] = append(f.wrong[what], f.at)
}

// call runs a command and reports whether it has changed data. The command must not fail internally, and a
// refused command must change nothing.
func (f *foreignTest) call(line string) (changed bool) {
	v := f.c.Do(wordsOf(line)...)
	if strings.Contains(v.String(), "internal error") {
		f.fault("%s: %s", line, v)
	}
	digest := f.c.Do("DEBUG", "DIGEST").Str
	changed = f.digest != digest
	if changed && v.IsError() {
		f.fault("%s changes data, and is refused: %s", line, v)
	}
	f.digest = digest
	return changed
}

// entries returns a map from a reply that is a map, or alternately keys and values.
func entries(v resp.Value) map[string]resp.Value {
	m := map[string]resp.Value{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		m[v.Elems[i].Str] = v.Elems[i+1]
	}
	return m
}

// holders returns the owners in a list of maps, and the sum of a number.
func holders(list resp.Value, number string) (owners []string, sum int64) {
	for _, elem := range list.Elems {
		m := entries(elem)
		owners, sum = append(owners, m["owner"].Str), sum+m[number].Int
	}
	slices.Sort(owners)
	return owners, sum
}

// agree checks that the commands that show the data agree with each other. LOCK.LIST may leave out locks
// without a token, which only scripts hold.
func (f *foreignTest) agree() {
	info := f.c.Do("LOCK.INFO", "k", "COUNT", "1000")
	var shown []string
	semaphore, native := false, false // native means that a holder has a token
	if len(info.Elems) > 0 {
		m := entries(info)
		semaphore = m["mode"].Str == "semaphore"
		switch list, many := m["holders"]; {
		case many:
			shown, _ = holders(list, "holds")
			native = slices.ContainsFunc(list.Elems, func(elem resp.Value) bool { return !entries(elem)["token"].IsNull() })
			if int(m["holding"].Int) != len(shown) {
				f.fault("LOCK.INFO counts %d holders and lists %d", m["holding"].Int, len(shown))
			}
		case m["owner"].Str != "":
			shown, native = []string{m["owner"].Str}, !m["token"].IsNull()
		}
	}
	var listed []string
	for _, elem := range f.c.Do("LOCK.LIST").Elems {
		if m := entries(elem); m["key"].Str == "k" && m["mode"].Str != "latch" {
			listed = append(listed, m["owner"].Str)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(shown, listed) && (native || listed != nil) {
		f.fault("LOCK.INFO lists %q, LOCK.LIST %q", shown, listed)
	}
	sem := f.c.Do("SEM.INFO", "k")
	if len(sem.Elems) > 0 != semaphore {
		f.fault("LOCK.INFO says that it is a semaphore: %t, SEM.INFO: %s", semaphore, sem)
	} else if semaphore {
		m := entries(sem)
		owners, permits := holders(m["holders"], "permits")
		if !slices.Equal(owners, shown) {
			f.fault("LOCK.INFO lists %q, SEM.INFO %q", shown, owners)
		}
		if m["used"].Int != permits || m["available"].Int != max(0, m["limit"].Int-permits) {
			f.fault("SEM.INFO: limit %d, used %d, available %d, and the holders have %d", m["limit"].Int, m["used"].Int, m["available"].Int, permits)
		}
	}
	count, list := f.c.Do("DELAY.COUNT", "k"), f.c.Do("DELAY.LIST", "k", "COUNT", "1000")
	if count.IsError() != list.IsError() || int(count.Int) != len(list.Elems) {
		f.fault("DELAY.COUNT: %s, DELAY.LIST lists %d: %s", count, len(list.Elems), list)
	}
	for _, elem := range list.Elems {
		if got := f.c.Do("DELAY.GET", "k", elem.Elems[0].Str); got.IsNull() || fmt.Sprint(got.Elems) != fmt.Sprint(elem.Elems[1:]) {
			f.fault("DELAY.LIST lists %s, DELAY.GET answers %s", elem, got)
		}
	}
}

// release checks that each listed holder can be released.
func (f *foreignTest) release() {
	for _, elem := range f.c.Do("DELAY.LIST", "k", "COUNT", "1000").Elems {
		if got := f.c.Do("DELAY.CANCEL", "k", elem.Elems[0].Str).String(); got != "1" {
			f.fault("DELAY.CANCEL of an entry that is listed: %s", got)
		}
	}
	for range 20 { // each release may free other holders
		list := slices.DeleteFunc(f.c.Do("LOCK.LIST").Elems, func(elem resp.Value) bool {
			m := entries(elem)
			return m["key"].Str != "k" || m["mode"].Str == "latch"
		})
		if len(list) == 0 {
			return
		}
		m := entries(list[0])
		var answer resp.Value
		owner := m["owner"].Str
		switch {
		case m["token"].Int == 0 || m["holds"].Int > 20: // a lock of a script: only the script can release it otherwise
			answer = f.c.Do("LOCK.FORCE", "k")
		case m["mode"].Str == "semaphore":
			answer = f.c.Do("SEM.RELEASE", "k", owner, "PERMITS", fmt.Sprint(m["holds"].Int))
		default:
			answer = f.c.Do("UNLOCK", "k", owner)
		}
		if answer.IsNull() || answer.IsError() {
			f.fault("release of a holder that is listed (%s): %s", list[0], answer)
			return
		}
	}
	f.fault("there are holders after twenty releases: %s", f.c.Do("LOCK.LIST"))
}

// write runs the commands of a write by hand, and reports whether all were accepted.
func (f *foreignTest) write(lines string) bool {
	for _, line := range strings.Split(lines, "; ") {
		if f.c.Do(wordsOf(line)...).IsError() {
			return false
		}
	}
	return true
}

// TestForeignWrites writes by hand into each native key, and then calls each native command. No command fails
// internally, and no reply contradicts another. With LOCKSERVER_LONG it uses more values.
func TestForeignWrites(t *testing.T) {
	t.Parallel()
	for _, kind := range foreignKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			clock := server.NewManualClock(time.UnixMilli(1_750_000_000_000))
			srv, err := server.New(server.Options{Clock: clock, Directives: map[string]string{"port": "0", "enable-debug-command": "yes"}})
			require.NoError(t, err)
			require.NoError(t, srv.Start())
			t.Cleanup(func() { _ = srv.Close() })
			f := &foreignTest{T: t, c: testkit.Dial(t, srv.Dial), wrong: map[string][]string{}}
			anew := func() {
				f.c.Do("FLUSHALL")
				require.True(t, f.write(kind.made))
			}
			anew()
			var writes []string
			for _, key := range strings.Fields(kind.keys) {
				writes = append(writes, foreignWrites(f.c, key)...)
			}
			for _, write := range writes {
				anew()
				f.at = write
				if !f.write(write) {
					continue
				}
				f.agree()
				f.release()
				f.agree()

				anew()
				f.write(write)
				f.digest = f.c.Do("DEBUG", "DIGEST").Str
				for _, line := range foreignCommands {
					f.at = write + ", " + line
					if f.call(line) {
						f.agree()
					}
				}
				f.at = write + ", two minutes later"
				clock.Advance(2 * time.Minute)
				f.agree()
			}
			require.Equal(t, "+PONG", f.c.Do("PING").String())
			for what, at := range f.wrong {
				t.Errorf("%s: %d times, such as %q", what, len(at), at[:min(3, len(at))])
			}
		})
	}
}
