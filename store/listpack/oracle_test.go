package listpack

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// Given the path of a Redis 7.4 server, TestGolden compares every state with that of the server and writes
// its file again:
//
//	go test ./store/listpack -run Golden -oracle path/to/redis-server
var redisServer = flag.String("oracle", "", "redis-server to compare with and to make testdata from")

const (
	goldenFile  = "testdata/redis74.golden"
	goldenSeed  = 20240301
	goldenSteps = 1500
	goldenEvery = 25
)

// TestHashOfRedis has all bytes that Redis 7.4.1 stores for HSET k f1 v 2 -70000 f3 "" lock 1.
func TestHashOfRedis(t *testing.T) {
	want := "23000000" + "0800" + "82663103" + "817602" + "0201" + "f290eefe04" + "82663303" + "8001" + "846c6f636b05" + "0101" + "ff"
	l := New()
	for _, s := range []string{"f1", "v", "2", "-70000", "f3", "", "lock", "1"} {
		l = l.Append([]byte(s))
	}
	require.Equal(t, want, hex.EncodeToString(l))
}

// hash runs HSET and HDEL on a hash in a listpack.
type hash struct{ l List }

func (h *hash) set(field, value []byte) {
	if pos := h.l.Find(h.l.First(), field, 1); pos >= 0 {
		h.l = h.l.Replace(h.l.Next(pos), value)
		return
	}
	h.l = h.l.Append(field).Append(value)
}

func (h *hash) del(field []byte) {
	if pos := h.l.Find(h.l.First(), field, 1); pos >= 0 {
		h.l = h.l.Delete(pos, 2)
	}
}

// hashElement returns fields and values at the limits of all encodings.
func hashElement(r *rand.Rand, all [][]byte, field bool) []byte {
	if r.IntN(3) == 0 {
		return randomElement(r)
	}
	b := all[r.IntN(len(all))]
	if len(b) > 4096 && r.IntN(10) > 0 || len(b) > 20_000 || field && len(b) > 200 {
		return randomElement(r)
	}
	return b
}

// TestGolden: after the same changes the bytes are those of Redis 7.4.
func TestGolden(t *testing.T) {
	var db *testkit.Client
	if *redisServer != "" {
		db = testkit.Program(*redisServer).Start(t, "--rdbcompression", "no").Client(t)
	}
	do := func(args ...string) (reply resp.Value) {
		if db != nil {
			reply = db.Do(args...)
			require.False(t, reply.IsError(), "%v", reply)
		}
		return reply
	}
	do("CONFIG", "SET", "hash-max-listpack-value", "1048576", "hash-max-listpack-entries", "10000")
	r := rand.New(rand.NewPCG(goldenSeed, 0))
	h, all := hash{New()}, samples()
	var lines []string
	for i := range goldenSteps {
		field := hashElement(r, all, true)
		if r.IntN(5) < 2 {
			h.del(field)
			do("HDEL", "k", string(field))
		} else {
			value := hashElement(r, all, false)
			h.set(field, value)
			do("HSET", "k", string(field), string(value))
		}
		if db != nil && h.l.Len() > 0 {
			require.Equal(t, "listpack", do("OBJECT", "ENCODING", "k").Str)
			require.Equal(t, inDump(t, do("DUMP", "k").Str), string(h.l), "step %d", i)
		}
		if i%goldenEvery == 0 {
			sum := sha256.Sum256(h.l)
			lines = append(lines, fmt.Sprintf("%d %d %x", h.l.Len(), h.l.Bytes(), sum[:12]))
		}
	}
	if db != nil {
		require.NoError(t, os.MkdirAll(filepath.Dir(goldenFile), 0o755))
		require.NoError(t, os.WriteFile(goldenFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
	want, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	require.Equal(t, strings.Split(strings.TrimSpace(string(want)), "\n"), lines)
}

// inDump returns the listpack of a dumped hash: type 16, a length, the bytes, ten
// bytes of version and checksum.
func inDump(t *testing.T, dump string) string {
	require.Equal(t, byte(16), dump[0])
	body := dump[1 : len(dump)-10]
	switch n := body[0]; {
	case n < 1<<6:
		return body[1:]
	case n < 2<<6:
		return body[2:]
	}
	require.Equal(t, uint32(len(body)-5), binary.BigEndian.Uint32([]byte(body[1:5])))
	return body[5:]
}
