package effects

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// TestStoredValuesStay: arguments are views into a read buffer, which the next read overwrites. Long
// pipelines are cut at random places, and every value must stay as it was sent.
func TestStoredValuesStay(t *testing.T) {
	seed := seedOf(t)
	conf := config.Default()
	conf.Port, conf.Save, conf.DBFilename = 0, nil, ""
	loops := startServer(t, server.Options{Directives: conf.Directives(), EventLoops: true})
	pipes := startServer(t, server.Options{})
	for name, dial := range map[string]func() (net.Conn, error){
		"event loop": func() (net.Conn, error) { return net.Dial("tcp", loops.Addr().String()) },
		"pipe":       pipes.Dial,
	} {
		t.Run(name, func(t *testing.T) {
			for i := range uint64(3) {
				writeAndRead(t, testkit.Dial(t, dial), rand.New(rand.NewPCG(seed, i)), fmt.Sprintf("client%d", i))
			}
		})
	}
}

// text returns a value that contains the name of its key.
func text(key string, size int) string {
	return strings.Repeat(key+".", size/(len(key)+1)+1)[:size]
}

// size returns a length that is usually short, and sometimes longer than any buffer.
func size(chance *rand.Rand) int {
	switch chance.IntN(20) {
	case 0:
		return chance.IntN(200_000)
	case 1, 2, 3:
		return chance.IntN(20_000)
	}
	return chance.IntN(100)
}

func writeAndRead(t *testing.T, c *testkit.Client, chance *rand.Rand, client string) {
	t.Helper()
	const values = 400
	var stream []byte
	var asks [][]string
	var wants []string
	sent := 0
	send := func(args ...string) {
		words := make([][]byte, len(args))
		for i, a := range args {
			words[i] = []byte(a)
		}
		stream = resp.AppendCommand(stream, words...)
		sent++
	}
	want := func(v string, args ...string) {
		asks, wants = append(asks, args), append(wants, v)
	}
	for i := range values {
		key := fmt.Sprintf("%s-%d", client, i)
		val := text(key, size(chance))
		switch i % 5 {
		case 0:
			send("SET", key, val)
			want(val, "GET", key)
		case 1:
			send("HSET", client+"-hash", key, val)
			want(val, "HGET", client+"-hash", key)
		case 2:
			send("SADD", key, val)
			want(val, "SRANDMEMBER", key)
		case 3:
			send("APPEND", key, val[:len(val)/2])
			send("APPEND", key, val[len(val)/2:])
			want(val, "GET", key)
		case 4:
			send("XADD", key, "1-1", key, val)
			send("RENAME", key, key+"-renamed")
			want(val, "XRANGE", key+"-renamed", "-", "+")
		}
	}
	go writeInPieces(c.Conn(), stream, chance)
	for range sent {
		v := c.Receive()
		require.False(t, v.IsError(), "%s", v)
	}
	for i, v := range c.Pipeline(asks) {
		for v.Kind == resp.Array { // an entry of a stream: the last string of the innermost list
			v = v.Elems[len(v.Elems)-1]
		}
		require.Truef(t, v.Str == wants[i], "%q: %d bytes, wanted %d", asks[i], len(v.Str), len(wants[i]))
	}
}

// writeInPieces writes b in pieces. Its errors show up at the reader.
func writeInPieces(conn net.Conn, b []byte, chance *rand.Rand) {
	for len(b) > 0 {
		n := min(len(b), 1+chance.IntN(40_000))
		if _, err := conn.Write(b[:n]); err != nil {
			return
		}
		b = b[n:]
	}
}
