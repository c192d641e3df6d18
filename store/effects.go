package store

import "strconv"

// Effect is one absolute, deterministic change, written as a command that a plain Redis understands. Those of
// Bloom filters need the module RedisBloom. Those of producers need Redis 8.8, the first version with such
// values. The closed list:
//
//	SET key value [PXAT ms | KEEPTTL]   APPEND key value        SETRANGE key offset value
//	DEL key                             PEXPIREAT key ms        PERSIST key
//	RENAME key newkey                   MOVE key db             COPY key newkey DB db REPLACE
//	FLUSHDB  FLUSHALL                   SWAPDB a b
//	RESTORE key ms payload REPLACE ABSTTL
//	HSET key field value [...]          HDEL key field [...]
//	HPEXPIREAT key ms FIELDS n field [...]                      HPERSIST key FIELDS n field [...]
//	PFADD key [element ...]             PFMERGE key [sourcekey ...]
//	SADD key member [...]               SREM key member [...]
//	RPUSH key element [...]             LPUSH key element [...]
//	RPOP key count                      LPOP key count
//	LSET key index element              LINSERT key BEFORE | AFTER pivot element
//	LTRIM key start stop                LREM key count element
//	ZADD key score member [...]         ZREM key member [...]
//	XADD key id field value [...]    XDEL key id [...]       XTRIM key MAXLEN n | MINID id
//	XSETID key id [ENTRIESADDED n] [MAXDELETEDID id]
//	XCFGSET key IDMP-DURATION s IDMP-MAXSIZE n       XIDMPRECORD key pid iid id [TIME ms]
//	XGROUP CREATE key group id MKSTREAM ENTRIESREAD n           XGROUP DESTROY key group
//	XGROUP SETID key group id ENTRIESREAD n
//	XGROUP CREATECONSUMER key group consumer                    XGROUP DELCONSUMER key group consumer
//	XCLAIM key group consumer 0 id TIME ms RETRYCOUNT n FORCE JUSTID
//	XACK key group id
//	BF.RESERVE key rate capacity EXPANSION n | NONSCALING       BF.MADD key item [...]
//	BF.LOADCHUNK key place bytes
//	FUNCTION LOAD REPLACE code       FUNCTION DELETE library    FUNCTION FLUSH
//	FUNCTION RESTORE payload FLUSH | APPEND | REPLACE
//
// Replaying the effects of a run, in order and with time frozen, into an empty store gives the same data.
type Effect struct {
	DB   int
	Args [][]byte
}

// maxMerged bounds the arguments of one merged effect.
const maxMerged = 1024

// recorder collects the effects of a unit. Names and arguments are stored in bytes, the lists of arguments in
// list. A unit allocates no memory if these buffers are given back.
type recorder struct {
	effects []Effect
	bytes   []byte
	list    [][]byte
	lent    *recorder // the buffers that were taken last, until they are given back
}

func (r *recorder) add(db int, name string, merge bool, args ...[]byte) {
	if last := len(r.effects) - 1; merge && last >= 0 {
		e := &r.effects[last]
		if e.DB == db && len(e.Args) < maxMerged && string(e.Args[0]) == name && string(e.Args[1]) == string(args[0]) {
			for _, a := range args[1:] {
				e.Args = append(e.Args, r.own(a))
			}
			return
		}
	}
	start := len(r.list)
	r.list = append(r.list, r.ownName(name))
	for _, a := range args {
		r.list = append(r.list, r.own(a))
	}
	r.effects = append(r.effects, Effect{DB: db, Args: r.list[start:len(r.list):len(r.list)]})
}

// own copies an argument. Where bytes grows, what was copied before stays where it is.
func (r *recorder) own(b []byte) []byte {
	from := len(r.bytes)
	r.bytes = append(r.bytes, b...)
	return r.bytes[from:len(r.bytes):len(r.bytes)]
}

func (r *recorder) ownName(name string) []byte {
	from := len(r.bytes)
	r.bytes = append(r.bytes, name...)
	return r.bytes[from:len(r.bytes):len(r.bytes)]
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func hasHead(args [][]byte, head []string) bool {
	if len(args) < len(head)+2 {
		return false
	}
	for i, word := range head {
		if string(args[i]) != word {
			return false
		}
	}
	return true
}
