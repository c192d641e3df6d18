package effects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// worker is one random client.
type worker struct {
	name   string
	rand   *rand.Rand
	unique *atomic.Int64 // shared by all clients: numbers for new values
	// startMS is the time at which the server's clock began.
	startMS int64
	// fieldTimes: fields of hashes get deadlines. producers: entries of streams have producers.
	fieldTimes, producers bool
	// added is the last stream entry that this client added: key and id.
	added [2]string
	// payload is the last result of this client's DUMP, or empty.
	payload string
	// accepted counts the accepted commands by name, and by the options in countedWords.
	accepted map[string]int
	// observe is called with the client's next step
	observe func(s step)
}

// countedWords are the options with which accepted commands are counted.
var countedWords = []string{"PRIORITY", "EVERY", "CRON"}

// count counts an accepted command.
func (w *worker) count(words []string) {
	w.accepted[words[0]]++
	for _, word := range words {
		if slices.Contains(countedWords, word) {
			w.accepted[words[0]+" "+word]++
		}
	}
}

// run plays n commands in pipelines of random length. Sometimes it closes the connection and reconnects,
// which ends the server's work for that connection. It returns an error if a connection breaks; error replies
// are expected.
func (w *worker) run(dial func() (*testkit.Client, error), n int) error {
	c, err := dial()
	for n > 0 && err == nil {
		var batch [][]string
		for range 1 + w.rand.IntN(10) {
			args := w.command()
			batch = append(batch, args)
			w.observe(step{client: w.name, args: args})
		}
		n -= len(batch)
		var replies []resp.Value
		if replies, err = c.CallPipeline(batch); err != nil {
			break
		}
		for i, v := range replies {
			if !v.IsError() {
				w.count(batch[i])
			}
			if batch[i][0] == "XADD" && v.Kind == resp.Bulk {
				w.added = [2]string{batch[i][1], v.Str}
			}
			if batch[i][0] == "DUMP" && v.Kind == resp.Bulk {
				w.payload = v.Str
			}
		}
		if w.rand.IntN(200) == 0 {
			w.observe(step{client: w.name})
			c.Close()
			c, err = dial()
		}
	}
	return err
}

func (w *worker) n(below int) string { return strconv.Itoa(w.rand.IntN(below)) }

// key returns a key of a kind, sometimes one of another kind.
func (w *worker) key(kind string) string {
	if w.rand.IntN(12) == 0 {
		kind = []string{"s", "n", "h", "t", "x", "l", "q", "z"}[w.rand.IntN(8)]
	}
	return kind + w.n(6)
}

func (w *worker) value() string {
	u := "u" + strconv.FormatInt(w.unique.Add(1), 10)
	switch w.rand.IntN(12) {
	case 0:
		return fmt.Sprintf("%s%*d", u, 100+w.rand.IntN(3000), 1) // a long value
	case 1:
		return u + "\x00\r\n\xff"
	}
	return u
}

func (w *worker) member() string {
	if w.rand.IntN(4) == 0 {
		return w.n(20)
	}
	return "m" + w.n(20)
}

// command returns a random command.
func (w *worker) command() []string {
	families := []func() []string{w.onString, w.onString, w.onKey, w.onKey, w.onHash, w.onHash, w.onSet, w.onList, w.onList, w.onZSet, w.onStream, w.onLock, w.onSale, w.onTime}
	words := families[w.rand.IntN(len(families))]()
	if w.rand.IntN(12) == 0 { // twice, in a script
		words = append([]string{"EVAL", "redis.pcall(unpack(ARGV)) return redis.pcall(unpack(ARGV))", "0"}, words...)
	}
	return words
}

// ttl returns a time to live in milliseconds, sometimes very short.
func (w *worker) ttl() string {
	if w.rand.IntN(2) == 0 {
		return strconv.Itoa(1 + w.rand.IntN(200))
	}
	return strconv.Itoa(100_000 + w.rand.IntN(1_000_000))
}

// moment returns a time, sometimes in the past.
func (w *worker) moment() string { return strconv.FormatInt(w.startMS+int64(w.rand.IntN(60_000)), 10) }

func (w *worker) onString() []string {
	key, num := w.key("s"), w.key("n")
	options := [][]string{
		{"SET", key, w.value()},
		{"SET", key, w.value(), "PX", w.ttl()},
		{"SET", key, w.value(), "EX", w.n(100)},
		{"SET", key, w.value(), "PXAT", w.moment(), "GET"},
		{"SET", key, w.value(), "KEEPTTL"},
		{"SET", key, w.value(), "NX"},
		{"SET", key, w.value(), "XX"},
		{"SETNX", key, w.value()},
		{"SETEX", key, "1000", w.value()},
		{"PSETEX", key, w.ttl(), w.value()},
		{"GETSET", key, w.value()},
		{"GETDEL", key},
		{"GETEX", key, "PX", w.ttl()},
		{"GETEX", key, "PERSIST"},
		{"GETEX", key, "PXAT", w.moment()},
		{"APPEND", key, w.value()},
		{"SETRANGE", key, w.n(50), w.value()},
		{"MSET", key, w.value(), w.key("s"), w.value()},
		{"MSETNX", key, w.value(), w.key("s"), w.value()},
		{"SET", num, w.n(100)},
		{"INCR", num}, {"DECR", num}, {"INCRBY", num, w.n(1000)}, {"DECRBY", num, "-" + w.n(1000)},
		{"INCREX", num, "UBOUND", w.n(50), "PX", w.ttl(), "ENX"}, {"INCREX", num, "BYFLOAT", "0.5", "SATURATE", "UBOUND", "20"},
		{"INCRBYFLOAT", num, "0." + w.n(100)},
		{"INCR", key}, // often not a number
	}
	return options[w.rand.IntN(len(options))]
}

func (w *worker) onKey() []string {
	a, b := w.key("s"), w.key("s")
	if w.rand.IntN(2) == 0 {
		kind := []string{"h", "t", "x", "l", "n", "q", "z"}[w.rand.IntN(7)]
		a, b = kind+w.n(6), kind+w.n(6)
	}
	if w.rand.IntN(150) == 0 {
		return [][]string{{"FLUSHDB"}, {"FLUSHALL"}, {"SWAPDB", "0", "1"}, {"SWAPDB", "1", "1"}}[w.rand.IntN(4)]
	}
	options := [][]string{
		{"DEL", a, b}, {"UNLINK", a},
		{"PEXPIRE", a, w.ttl()}, {"PEXPIRE", a, "-" + w.n(5)}, {"EXPIRE", a, "1000", "NX"}, {"EXPIRE", a, "2000", "GT"},
		{"PEXPIREAT", a, w.moment()}, {"EXPIREAT", a, "1"}, {"PERSIST", a},
		{"RENAME", a, b}, {"RENAMENX", a, b}, {"RENAME", a, a},
		{"COPY", a, b}, {"COPY", a, b, "REPLACE"}, {"COPY", a, b, "DB", w.n(3), "REPLACE"}, {"COPY", a, a, "DB", "1"},
		{"MOVE", a, w.n(3)},
		{"SELECT", w.n(3)}, {"SELECT", "0"},
		{"GET", a}, {"TYPE", a},
		{"DUMP", a}, {"RESTORE", b, "0", w.payload}, {"RESTORE", b, w.ttl(), w.payload, "REPLACE"},
		{"RESTORE", b, w.moment(), w.payload, "REPLACE", "ABSTTL", "IDLETIME", "5"},
	}
	return options[w.rand.IntN(len(options))]
}

func (w *worker) onHash() []string {
	key := w.key("h")
	options := [][]string{
		{"HSET", key, w.member(), w.value()},
		{"HSET", key, w.member(), w.value(), w.member(), w.value()},
		{"HMSET", key, w.member(), w.value()},
		{"HSETNX", key, w.member(), w.value()},
		{"HDEL", key, w.member(), w.member()},
		{"HDEL", key, "m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"},
		{"HINCRBY", key, "count", w.n(10)},
		{"HINCRBYFLOAT", key, "sum", "1." + w.n(100)},
	}
	if w.fieldTimes {
		options = append(options, [][]string{
			{"HPEXPIRE", key, w.ttl(), "FIELDS", "2", w.member(), "count"},
			{"HPEXPIRE", key, w.ttl(), "GT", "FIELDS", "1", w.member()},
			{"HPEXPIREAT", key, w.moment(), "FIELDS", "3", w.member(), w.member(), "sum"},
			{"HPERSIST", key, "FIELDS", "2", w.member(), w.member()},
			{"HSETEX", key, "PX", w.ttl(), "FIELDS", "2", w.member(), w.value(), w.member(), w.value()},
			{"HSETEX", key, "KEEPTTL", "FIELDS", "1", w.member(), w.value()},
			{"HGETEX", key, "PXAT", w.moment(), "FIELDS", "1", w.member()},
			{"HGETEX", key, "PERSIST", "FIELDS", "1", w.member()},
			{"HGETDEL", key, "FIELDS", "2", w.member(), w.member()},
		}...)
	}
	return options[w.rand.IntN(len(options))]
}

func (w *worker) onSet() []string {
	a, b, c := w.key("t"), w.key("t"), w.key("t")
	options := [][]string{
		{"SADD", a, w.member(), w.member()}, {"SADD", a, w.n(1000), w.n(1000), w.n(1000)}, {"SADD", a, w.value()},
		{"SREM", a, w.member(), w.member()},
		{"SPOP", a}, {"SPOP", a, w.n(5)}, {"SPOP", a, "1000"},
		{"SMOVE", a, b, w.member()},
		{"SINTERSTORE", a, b, c}, {"SUNIONSTORE", a, b, c}, {"SDIFFSTORE", a, b, c},
	}
	return options[w.rand.IntN(len(options))]
}

// onList avoids the keys of locks, which begin with "l".
func (w *worker) onList() []string {
	a, b := w.key("q"), w.key("q")
	element := func() string {
		if w.rand.IntN(2) == 0 {
			return w.value()
		}
		return w.member()
	}
	options := [][]string{
		{"RPUSH", a, element(), element(), element()}, {"LPUSH", a, element(), element()}, {"RPUSH", a, element()},
		{"LPUSHX", a, element()}, {"RPUSHX", a, element(), element()},
		{"LPOP", a}, {"RPOP", a}, {"LPOP", a, w.n(5)}, {"RPOP", a, w.n(50)},
		{"LSET", a, w.n(5), element()}, {"LSET", a, "-1", element()},
		{"LINSERT", a, "BEFORE", w.member(), element()}, {"LINSERT", a, "AFTER", w.member(), element()},
		{"LREM", a, "0", w.member()}, {"LREM", a, "-1", w.member()}, {"LREM", a, "2", w.member()},
		{"LTRIM", a, w.n(3), "-" + w.n(5)}, {"LTRIM", a, "0", "-1"},
		{"LMOVE", a, b, "LEFT", "RIGHT"}, {"LMOVE", a, a, "RIGHT", "LEFT"}, {"RPOPLPUSH", a, b}, {"LMPOP", "2", a, b, "LEFT", "COUNT", w.n(4)},
		{"BLPOP", a, b, "0.03"}, {"BLMOVE", a, b, "LEFT", "LEFT", "0.02"}, {"BRPOPLPUSH", a, a, "0.01"},
		{"BLMPOP", "0.02", "1", a, "RIGHT", "COUNT", "3"},
	}
	return options[w.rand.IntN(len(options))]
}

func (w *worker) onZSet() []string {
	a, b, c := w.key("z"), w.key("z"), w.key("z")
	score := func() string {
		return []string{w.n(30), "0." + w.n(1000), "-" + w.n(30), "1e" + w.n(300), "inf", "-inf", "-0"}[w.rand.IntN(7)]
	}
	options := [][]string{
		{"ZADD", a, score(), w.member(), score(), w.member()}, {"ZADD", a, score(), w.value()},
		{"ZADD", a, "GT", "CH", score(), w.member(), score(), w.member()}, {"ZADD", a, "NX", score(), w.member()},
		{"ZADD", a, "XX", "INCR", score(), w.member()}, {"ZINCRBY", a, "0.1", w.member()}, {"ZINCRBY", a, score(), w.member()},
		{"ZREM", a, w.member(), w.member()},
		{"ZREMRANGEBYRANK", a, w.n(5), w.n(5)}, {"ZREMRANGEBYSCORE", a, "(" + w.n(5), w.n(20)}, {"ZREMRANGEBYLEX", a, "[m1", "(m2"},
		{"ZPOPMIN", a}, {"ZPOPMAX", a, w.n(5)}, {"ZPOPMIN", a, "1000"}, {"ZMPOP", "2", a, b, "MAX", "COUNT", w.n(4)},
		{"ZRANGESTORE", a, b, w.n(3), "-1"}, {"ZRANGESTORE", a, a, "-inf", w.n(20), "BYSCORE", "LIMIT", "1", "7"},
		{"ZUNIONSTORE", a, "2", b, c, "WEIGHTS", "2", "0.5"}, {"ZUNIONSTORE", a, "2", a, w.key("t"), "AGGREGATE", "MAX"},
		{"ZUNIONSTORE", a, "2", b, c, "AGGREGATE", "COUNT"},
		{"ZINTERSTORE", a, "2", b, c}, {"ZDIFFSTORE", a, "2", b, c},
		{"BZPOPMIN", a, b, "0.03"}, {"BZPOPMAX", a, "0.02"}, {"BZMPOP", "0.02", "2", a, b, "MIN", "COUNT", "3"},
	}
	return options[w.rand.IntN(len(options))]
}

// onStream only raises last IDs: D12 in docs/DIFFERENCES.md says what Redis does with lowered ones.
func (w *worker) onStream() []string {
	key := w.key("x")
	late := strconv.FormatInt(w.startMS+int64(w.rand.IntN(100_000)), 10)
	options := [][]string{
		{"XADD", key, "*", "f", w.value()}, {"XADD", key, "*", "f", w.value(), "g", w.value()}, {"XADD", key, "*", "f", w.value()},
		{"XADD", key, "MAXLEN", w.n(10), "*", "f", w.value()},
		{"XADD", key, "MAXLEN", "~", w.n(10), "*", "f", w.value()},
		{"XADD", key, "MINID", late, "*", "f", w.value()},
		{"XADD", key, "NOMKSTREAM", "*", "f", w.value()},
		{"XADD", key, late + "-*", "f", w.value()},
		{"XTRIM", key, "MAXLEN", w.n(20)}, {"XTRIM", key, "MINID", "~", late},
		{"XDEL", w.added[0], w.added[1], "5-5"}, {"XDEL", w.added[0], w.added[1]},
		{"XSETID", key, strconv.FormatInt(w.startMS+150_000, 10)},
		{"XGROUP", "CREATE", key, w.group(), "0", "MKSTREAM"}, {"XGROUP", "CREATE", key, w.group(), "$"},
		{"XGROUP", "SETID", key, w.group(), "0"}, {"XGROUP", "CREATECONSUMER", key, w.group(), w.name},
		{"XGROUP", "DESTROY", key, w.group()}, {"XGROUP", "DELCONSUMER", key, w.group(), w.name},
		{"XREADGROUP", "GROUP", w.group(), w.name, "COUNT", w.n(5), "STREAMS", key, ">"},
		{"XREADGROUP", "GROUP", w.group(), w.name, "STREAMS", key, ">"},
		{"XREADGROUP", "GROUP", w.group(), w.name, "NOACK", "COUNT", "1", "STREAMS", key, ">"},
		{"XREADGROUP", "GROUP", w.group(), w.name, "BLOCK", "20", "STREAMS", key, ">"},
		{"XREADGROUP", "GROUP", w.group(), w.name, "STREAMS", key, "0"},
		{"XREADGROUP", "GROUP", w.group(), w.name, "COUNT", w.n(5), "CLAIM", "5", "STREAMS", key, ">"},
		{"XREADGROUP", "GROUP", w.group(), w.name, "BLOCK", "20", "CLAIM", "10", "STREAMS", key, ">"},
		{"XNACK", w.added[0], "g0", "FAIL", "IDS", "1", w.added[1]}, {"XNACK", w.added[0], "g0", "FATAL", "IDS", "1", w.added[1], "FORCE"},
		{"XACK", w.added[0], "g0", w.added[1], "5-5"}, {"XACK", w.added[0], "g0", w.added[1]}, {"XACK", w.added[0], "g0", w.added[1]},
		{"XCLAIM", w.added[0], "g0", w.name, "0", w.added[1]}, {"XCLAIM", w.added[0], "g0", w.name, "0", w.added[1], "FORCE", "JUSTID"},
		{"XCLAIM", w.added[0], "g0", w.name, "0", w.added[1], "FORCE", "IDLE", "1000", "RETRYCOUNT", "7", "LASTID", w.added[1]},
		{"XAUTOCLAIM", key, w.group(), w.name, "0", "0", "COUNT", "3"}, {"XAUTOCLAIM", key, w.group(), w.name, "0", "0"},
		{"XSETID", key, strconv.FormatInt(w.startMS+200_000, 10) + "-" + w.n(100), "ENTRIESADDED", "100000", "MAXDELETEDID", "5-5"},
	}
	if w.producers {
		options = append(options,
			[]string{"XADD", key, "IDMP", "p" + w.n(3), "m" + w.n(30), "*", "f", w.value()},
			[]string{"XADD", key, "MAXLEN", w.n(9), "IDMP", "p" + w.n(3), "m" + w.n(30), "*", "f", w.value()},
			[]string{"XADD", key, "IDMPAUTO", "p" + w.n(3), "*", "f", w.n(30)},
			[]string{"XCFGSET", key, "IDMP-DURATION", "86400", "IDMP-MAXSIZE", "1" + w.n(9)})
	}
	return options[w.rand.IntN(len(options))]
}

// group usually returns the same group, so that one client acknowledges what another has received.
func (w *worker) group() string {
	if w.rand.IntN(4) > 0 {
		return "g0"
	}
	return "g1"
}

func (w *worker) onLock() []string {
	key, owner := w.key("l"), w.name
	if w.rand.IntN(5) == 0 {
		owner = "anyone"
	}
	options := [][]string{
		{"LOCK", key, owner}, {"LOCK", key, owner, "PX", w.ttl()}, {"LOCK", key, owner, "EX", "100"},
		{"LOCK", key, owner, "PX", w.ttl(), "WAIT", "30"}, {"LOCK", key, owner, "WAIT", "50"},
		{"LOCK", key, owner, "PX", w.ttl(), "WAIT", "30", "PRIORITY", w.n(10)},
		{"MLOCK", "2", key, w.key("l"), owner, "PX", w.ttl(), "WAIT", "20", "PRIORITY", w.n(10)},
		{"UNLOCK", key, owner}, {"UNLOCK", key, owner}, {"UNLOCK", key, owner}, {"UNLOCK", key, owner, "TOKEN", "1"},
		{"RENEW", key, owner}, {"RENEW", key, owner, "PX", w.ttl()},
		{"MLOCK", "2", key, w.key("l"), owner, "PX", w.ttl()}, {"MLOCK", "2", key, w.key("l"), owner, "WAIT", "20"},
		{"MUNLOCK", "2", key, w.key("l"), owner}, {"MUNLOCK", "2", key, w.key("l"), owner},
		{"LOCK.FORCE", key}, {"GUARD", key, "1", "DEL", key}, {"LOCK.LIST", "COUNT", "3"}, {"LOCK.INFO", key},
	}
	permits := w.key("p")
	options = append(options, [][]string{
		{"SEM.ACQUIRE", permits, owner, "LIMIT", "3", "PX", w.ttl()}, {"SEM.ACQUIRE", permits, owner, "INITIAL", "2", "PERMITS", "2"},
		{"SEM.ACQUIRE", permits, owner, "LIMIT", "3", "PX", w.ttl(), "WAIT", "20", "PRIORITY", w.n(10)},
		{"SEM.RELEASE", permits, owner}, {"SEM.RENEW", permits, owner, "PX", w.ttl()}, {"SEM.RESIZE", permits, "2"},
	}...)
	return options[w.rand.IntN(len(options))]
}

func (w *worker) onSale() []string {
	voucher := w.n(3)
	options := [][]string{
		{"SET", "seckill:stock:" + voucher, w.n(100)},
		{"SECKILL", voucher, "user" + w.n(200), w.value()},
		{"SECKILL", voucher, "user" + w.n(200), w.value()},
		{"SECKILL", voucher, "user" + w.n(200), w.value()},
		{"DEL", "seckill:order:" + voucher},
	}
	user, order, made := "user"+w.n(20), "order"+w.n(60), "made"+voucher
	options = append(options, [][]string{
		{"SECKILL.CREATE", made, "STOCK", w.n(40), "LIMIT", "3", "HOLD", "1" + w.n(300), "STREAM", "sold"},
		{"SECKILL.CREATE", made, "STOCK", w.n(40), "LIMIT", "2", "STREAM", "sold", "REPLACE"},
		{"SECKILL", made, user, order},
		{"SECKILL", made, user, order, "QTY", "2"},
		{"SECKILL", made, user, order},
		{"SECKILL.CONFIRM", made, user, order},
		{"SECKILL.CANCEL", made, user, order},
		{"SECKILL.CANCEL", made, user, order, "QTY", "1"},
		{"SECKILL.EXTEND", made, user, order, "1" + w.n(300)},
		{"SECKILL.CART", user, order, "2", made, "1", "extended", "1"},
		{"SECKILL.CREATE", "extended", "STOCK", w.n(40), "LIMIT", "3", "HOLD", "100", "HOLDMAX", "300", "STREAM", "sold"},
		{"SECKILL.EXTEND", "extended", user, order, "1" + w.n(300)},
		{"SECKILL.RESTOCK", made, w.n(10)},
		{"SECKILL.RESTOCK", made, "-" + w.n(10)},
		{"NEXTID", "order", "COUNT", "3"},
		{"RENAME", "seckill:holds:" + made, "seckill:holds:made" + w.n(3)},
		{"COPY", "seckill:holds:" + made, "seckill:holds:made" + w.n(3), "REPLACE"},
	}...)
	return options[w.rand.IntN(len(options))]
}

// onTime returns commands with effects that come later by themselves.
func (w *worker) onTime() []string {
	stream, id := "later"+w.n(3), "id"+w.n(20)
	options := [][]string{
		{"DELAY.ADD", stream, "PX", w.n(300), "ID", id, "n", w.value()},
		{"DELAY.ADD", stream, "PX", "5" + w.n(10), "n", w.value(), "m", w.n(9)},
		{"DELAY.MOVE", stream, id, "PX", w.n(300)},
		{"DELAY.CANCEL", stream, id},
		{"RENAME", "{" + stream + "}:delayed", "{later" + w.n(3) + "}:delayed"},
		{"COPY", "{" + stream + "}:delayed:entries", "{later" + w.n(3) + "}:delayed:entries", "REPLACE"},
		{"LIMIT.TAKE", "limit" + w.n(3), "5", "7", "30", "COST", w.n(5)},
		{"LIMIT.TAKE", "limit" + w.n(3), "3", "9", "20", "WAIT", "10"},
		{"CL.THROTTLE", "limit" + w.n(3), "4", "3", "1"},
		{"LIMIT.MTAKE", "2", "rate" + w.n(2), "20", "7", "600000", "rate2", "30", "5", "600000", "COST", w.n(4)},
		{"LIMIT.MTAKE", "2", "limit" + w.n(2), "3", "9", "20", "limit2", "4", "8", "20", "WAIT", "10"},
		{"LIMIT.GIVE", "rate" + w.n(3), "30", "5", "600000", "COST", w.n(4)},
		{"DELAY.ADD", stream, "EVERY", "10" + w.n(10), "TIMES", "1" + w.n(5), "ID", "rule" + w.n(2), "n", w.value()},
		{"DELAY.ADD", stream, "PX", w.n(300), "EVERY", "40" + w.n(10), "UNTIL", w.moment(), "MISSED", "ALL", "ID", id, "n", w.value()},
		{"DELAY.ADD", stream, "CRON", "* * * * * *", "TZ", "Europe/Berlin", "TIMES", "1" + w.n(3), "ID", "rule" + w.n(2), "n", w.value()},
		{"DELAY.MOVE", stream, "rule" + w.n(2), "PX", w.n(300)},
		{"DELAY.CANCEL", stream, "rule" + w.n(2)},
		{"SECKILL.CREATE", "rated", "STOCK", w.n(40), "RATE", "3", "50", "BURST", "2", "REPLACE"},
		{"SECKILL", "rated", "user" + w.n(5), "order" + w.n(60)},
	}
	return options[w.rand.IntN(len(options))]
}
