//go:build oracle

package differential

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lazyConversations removes values in every way: each line removes the value that it makes. {n} stands for
// the words 1 to n.
const lazyConversations = `
	SADD k {64} a ; UNLINK k
	SADD k {63} a ; UNLINK k
	SADD k {200} ; UNLINK k
	HSET k {128} ; UNLINK k
	CONFIG SET hash-max-listpack-entries 10 ; HSET k {128} ; UNLINK k
	HSET k {130} ; UNLINK k
	CONFIG SET zset-max-listpack-entries 10 ; ZADD k {128} ; UNLINK k
	ZADD k {130} ; UNLINK k
	CONFIG SET list-max-listpack-size 2 ; RPUSH k {128} ; UNLINK k
	RPUSH k {130} ; UNLINK k
	CONFIG SET stream-node-max-entries 1 ; XADD k 1-1 f v ; UNLINK k
	XADD k 1-1 f v ; XGROUP CREATE k g 0 ; XGROUP CREATE k h 0 ; UNLINK k
	XSTREAM k 70 ; UNLINK k
	XSTREAM k 31 ; UNLINK k
	XSTREAM k 20 ; XGROUP CREATE k g 0 ; XREADGROUP GROUP g c STREAMS k > ; UNLINK k
	XSTREAM k 20 ; XGROUP CREATE k g 0 ; XGROUP CREATE k h 0 ; XREADGROUP GROUP g c STREAMS k > ; UNLINK k
	XSTREAM k 20 ; XGROUP CREATE k g 0 ; XGROUP CREATE k h 0 ; XREADGROUP GROUP h c STREAMS k > ; UNLINK k
	SET k v ; UNLINK k k nosuch
	SADD k {100} a ; DEL k
	SADD k {100} a ; SPOP k 200
	SADD k {100} a ; SET k v ; DEL k
	SADD k {100} a ; SADD l {100} b ; RENAME k l ; DEL l
	SADD k {100} a ; SADD l b ; RENAME k l ; DEL l
	SADD k {100} a ; SADD l {100} b ; COPY k l REPLACE ; DEL l k
	SADD k {100} a ; SADD l b ; SUNIONSTORE k l ; DEL l k
	SADD k {100} a ; SINTERSTORE k l
	SADD k {100} a ; BITOP NOT k l
	SADD k {100} a ; SORT l STORE k
	SADD k {100} a ; SREM k {100} a
	SADD k {100} a ; PEXPIRE k -1
	SADD k {100} a ; PEXPIRE k 1 ; WAITMS 10 ; EXISTS k
	SADD k {100} a ; CONFIG SET maxmemory-policy allkeys-random maxmemory 1 ; SET m v ; CONFIG SET maxmemory 0
	SADD k {100} a ; SET l v ; FLUSHALL
	SADD k {100} a ; SET l v ; FLUSHDB SYNC
	SADD k {100} a ; SET l v ; FLUSHDB ASYNC
	SADD k {100} a ; SET l v ; MULTI ; FLUSHALL ; EXEC
	SADD k {100} a ; SET l v ; MULTI ; FLUSHDB ASYNC ; EXEC
	SADD k {100} a ; SET l v ; MULTI ; FLUSHDB SYNC ; EXEC
	SADD k {100} a ; EVAL "return·redis.call('flushall')" 0
	SADD k {100} a ; EVAL "return·redis.call('flushall','async')" 0
	SADD k {100} a ; EVAL "return·redis.call('unlink','k')" 0
	CONFIG RESETSTAT
	SCRIPTS 64 ; SCRIPT FLUSH ASYNC
	SCRIPTS 65 ; SCRIPT FLUSH
	SCRIPTS 65 ; SCRIPT FLUSH SYNC
	SCRIPTS 65 ; SCRIPT FLUSH async
	FUNCTIONS 64 ; FUNCTION FLUSH ASYNC
	FUNCTIONS 65 ; FUNCTION FLUSH
	FUNCTIONS 65 ; FUNCTION FLUSH SYNC
	FUNCTIONS 65 ; FUNCTION FLUSH async
	FUNCTIONS 65 ; SCRIPTS 70 ; FLUSHALL ASYNC
`

// TestLazyFreed: lazyfreed_objects counts the values that Redis frees in the background, for any
// lazyfree-lazy-*.
func TestLazyFreed(t *testing.T) {
	reasons := []string{"", "eviction", "expire", "server-del", "user-del", "user-flush"}
	for _, on := range reasons {
		t.Run("lazy "+on, func(t *testing.T) {
			p := startPair(t, "")
			p.begin(2)
			if on != "" {
				ours, redis := p.do("CONFIG", "SET", "lazyfree-lazy-"+on, "yes")
				require.Equal(t, redis.String(), ours.String())
			}
			for line := range strings.Lines(strings.TrimSpace(lazyConversations)) {
				for command := range strings.SplitSeq(line, ";") {
					p.playLazy(t, strings.Fields(command))
				}
				require.Equal(t, lazyFreed(t, &p.redis), lazyFreed(t, &p.ours), line)
			}
		})
	}
}

// playLazy sends a command of lazyConversations to both servers.
func (p *pair) playLazy(t *testing.T, words []string) {
	switch words[0] {
	case "WAITMS":
		ms, _ := strconv.Atoi(words[1])
		time.Sleep(time.Duration(ms) * time.Millisecond)
		return
	case "SCRIPTS":
		n, _ := strconv.Atoi(words[1])
		for i := range n {
			p.do("SCRIPT", "LOAD", "return "+strconv.Itoa(i))
		}
		return
	case "FUNCTIONS":
		n, _ := strconv.Atoi(words[1])
		code := "#!lua name=many\n"
		for i := range n {
			code += "redis.register_function('f" + strconv.Itoa(i) + "', function() end)\n"
		}
		p.do("FUNCTION", "LOAD", "REPLACE", code)
		return
	case "XSTREAM":
		n, _ := strconv.Atoi(words[2])
		for i := range n {
			p.do("XADD", words[1], strconv.Itoa(i*77+1)+"-1", "f", "v")
		}
		return
	}
	var args []string
	for _, w := range words {
		if n, ok := strings.CutPrefix(w, "{"); ok {
			most, err := strconv.Atoi(strings.TrimSuffix(n, "}"))
			require.NoError(t, err)
			for i := range most {
				args = append(args, strconv.Itoa(i+1))
			}
			continue
		}
		args = append(args, strings.Trim(strings.ReplaceAll(w, "·", " "), `"`))
	}
	ours, redis := p.do(args...)
	if !slices.Contains([]string{"SPOP", "XREADGROUP"}, args[0]) { // their replies have a random order, or times
		require.Equal(t, redis.String(), ours.String(), args)
	}
}

// lazyFreed returns the number when nothing is pending any more.
func lazyFreed(t *testing.T, s *side) string {
	var fields map[string]string
	require.Eventually(t, func() bool {
		fields = infoFields(s.watch.Do("INFO", "memory").Str)
		return fields["lazyfree_pending_objects"] == "0"
	}, time.Minute, time.Millisecond)
	return fields["lazyfreed_objects"]
}
