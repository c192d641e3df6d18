package rdb

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// golden is a file of a real redis-server 7.0.15. oracle_test.go makes the files from the same table
// (RDB_GOLDEN=write go test -tags oracle).
type golden struct {
	name     string
	args     []string // arguments of redis-server, over its defaults
	commands []string // for redis-cli
	want     snapshot
}

const farMS = "4102444800000" // 2100-01-01

var streamCommands = []string{
	"XADD s 1-1 a 1 b 2", "XADD s 1-2 a 3 b 4", "XADD s 2-0 other x", "XADD s 3-7 a 5 b 6", "XDEL s 1-2",
	"XGROUP CREATE s g 0", "XGROUP CREATE s empty $ ENTRIESREAD 4",
	"XREADGROUP GROUP g alice COUNT 1 STREAMS s >", "XREADGROUP GROUP g bob COUNT 1 STREAMS s >",
	"XGROUP CREATECONSUMER s g idler",
	"XCLAIM s g alice 0 1-1 TIME 1600000000000 RETRYCOUNT 7", "XCLAIM s g bob 0 2-0 TIME 1600000000001 RETRYCOUNT 1",
	"XADD gone 5-5 f v", "XDEL gone 5-5",
	"XADD legacy * f v", "DEL legacy",
}

const streamWant = "stream [1-1: 3 1 2 a b 0 2 0 0 1 2 5 3 0 1 3 4 5 0 1 -1 1 other x 6 2 2 6 5 6 5] " +
	"{Length:3 LastID:{MS:3 Seq:7} Legacy:false FirstID:{MS:1 Seq:1} MaxDeletedID:{MS:1 Seq:2} EntriesAdded:4 Groups:2}" +
	" empty {3 7} read=4 [] " +
	" g {2 0} read=-1 [{{1 1} 1600000000000 7 0} {{2 0} 1600000000001 1 1}] alice,bob,idler"

var goldens = []golden{
	{name: "empty", want: snapshot{}},
	{
		name: "strings",
		commands: []string{
			"SET raw hello", `SET "" ""`, `SET bin "\x00\xff\r\n"`, "SET i8 -5", "SET i16 1234", "SET i32 -2147483648",
			"SET i64 9223372036854775807", "SET padded 007", "SET 12345 numkey",
			"SET lzf " + strings.Repeat("abcd", 100), "SET long " + strings.Repeat("x", 20000),
			"SET ttl v PXAT " + farMS, "SELECT 3", "SET other db", "SELECT 15", "SET last db PXAT " + farMS,
		},
		want: snapshot{
			"0/raw": "string hello", `0/""`: `string ""`, "0/bin": `string "\x00\xff\r\n"`, "0/i8": "string -5",
			"0/i16": "string 1234", "0/i32": "string -2147483648", "0/i64": "string 9223372036854775807",
			"0/padded": "string 007", "0/12345": "string numkey",
			"0/lzf":  "string " + word([]byte(strings.Repeat("abcd", 100))),
			"0/long": "string " + word([]byte(strings.Repeat("x", 20000))),
			"0/ttl":  "string v @" + farMS, "3/other": "string db", "15/last": "string db @" + farMS,
		},
	},
	{name: "compact", commands: containerCommands, want: containerWant},
	{
		name: "plain",
		args: []string{"--hash-max-listpack-entries", "0", "--set-max-intset-entries", "0", "--zset-max-listpack-entries", "0",
			"--list-max-listpack-size", "2", "--list-compress-depth", "1"},
		commands: containerCommands, want: containerWant,
	},
	{
		name: "uncompressed", args: []string{"--rdbcompression", "no", "--rdbchecksum", "no"},
		commands: containerCommands, want: containerWant,
	},
	{
		name:     "plainnodes",
		commands: []string{"DEBUG QUICKLIST-PACKED-THRESHOLD 50b", "RPUSH l a " + strings.Repeat("p", 60) + " b 3 " + strings.Repeat("q", 70)},
		want:     snapshot{"0/l": "list a " + strings.Repeat("p", 60) + " b 3 " + strings.Repeat("q", 70)},
	},
	{name: "streams", commands: streamCommands, want: snapshot{
		"0/s":    streamWant,
		"0/gone": "stream {Length:0 LastID:{MS:5 Seq:5} Legacy:false FirstID:{MS:0 Seq:0} MaxDeletedID:{MS:5 Seq:5} EntriesAdded:1 Groups:0}",
	}},
	{
		name: "streamnodes", args: []string{"--stream-node-max-entries", "2"},
		commands: []string{"XADD s 1-0 a 1", "XADD s 1-1 a 2", "XADD s 1-2 b 3"},
		want: snapshot{"0/s": "stream [1-0: 2 0 1 a 0 2 0 0 1 4 2 0 1 2 4] [1-2: 1 0 1 b 0 2 0 0 3 4] " +
			"{Length:3 LastID:{MS:1 Seq:2} Legacy:false FirstID:{MS:1 Seq:0} MaxDeletedID:{MS:0 Seq:0} EntriesAdded:3 Groups:0}"},
	},
	{
		name: "lru", args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"},
		commands: []string{"SET k v"}, want: snapshot{"0/k": "string v idle=0"},
	},
	{
		name: "lfu", args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu", "--lfu-log-factor", "100", "--lfu-decay-time", "0"},
		commands: []string{"SET k v"}, want: snapshot{"0/k": "string v freq=5"},
	},
	{
		name:     "functions",
		commands: []string{`FUNCTION LOAD "#!lua name=mylib\nredis.register_function('f', function() return 1 end)"`, "SET k v"},
		want:     snapshot{"0/k": "string v"},
	},
}

var containerCommands = []string{
	"HSET h f1 v1 f2 2 3 -70000", `HSET h "bin\x00" ""`, "HSET hl " + "name " + strings.Repeat("v", 100),
	"SADD i16 1 -2 300", "SADD i32 1 70000 -70000", "SADD i64 1 5000000000 -5000000000", "SADD words a b 1", "SADD one 7",
	"ZADD z 1 one 2.5 two -inf low inf high 1e300 big 3.0000000000000004 near 5 7", "ZADD z 1 aaa",
	"RPUSH l a b 3 -4 100000 " + strings.Repeat("L", 90) + " e f g h", `RPUSH l2 ""`,
	"EXPIREAT h 4102444800",
}

var containerWant = snapshot{
	"0/h":     `hash "bin\x00"="" 3=-70000 f1=v1 f2=2 @` + farMS,
	"0/hl":    "hash name=" + word([]byte(strings.Repeat("v", 100))),
	"0/i16":   "set -2 1 300",
	"0/i32":   "set -70000 1 70000",
	"0/i64":   "set -5000000000 1 5000000000",
	"0/words": "set 1 a b",
	"0/one":   "set 7",
	"0/z":     "zset 7:5 aaa:1 big:1e+300 high:+Inf low:-Inf near:3.0000000000000004 one:1 two:2.5",
	"0/l":     "list a b 3 -4 100000 " + word([]byte(strings.Repeat("L", 90))) + " e f g h",
	"0/l2":    `list ""`,
}

func (g golden) path() string { return filepath.Join("testdata", "redis-7.0", g.name+".rdb") }

func TestGoldenFilesOfRedis(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			data, err := os.ReadFile(g.path())
			require.NoError(t, err)
			got, r, err := readAll(bytes.NewReader(data), ReaderOptions{})
			require.NoError(t, err)
			require.Equal(t, g.want, got)
			require.Equal(t, 10, r.Version())
			require.EqualValues(t, len(data), r.Offset())
			require.Contains(t, r.Aux(), AuxField{"redis-ver", "7.0.15"})
			require.Contains(t, r.Aux(), AuxField{"redis-bits", "64"})
			require.Equal(t, Skipped{}, r.Skipped())
			if g.name == "functions" {
				require.Len(t, r.Functions(), 1)
				require.True(t, bytes.HasPrefix(r.Functions()[0], []byte("#!lua name=mylib\n")))
			} else {
				require.Empty(t, r.Functions())
			}
		})
	}
}
