package server

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// Large requests and replies are kept, whichever way a command takes: alone, in pieces, in a pipeline, in a
// transaction, and after a wait; others are not.
func TestCommandlogKeepsWhatIsLarge(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, func(c *config.Config) {
		c.CommandlogRequestLargerThan, c.CommandlogReplyLargerThan = 10_000, 20_000
	})
	c, other := client(t, srv), client(t, srv)
	logged := func(kind string) (log []string) {
		for _, e := range c.Do("COMMANDLOG", "GET", "-1", kind).Elems {
			log = append(log, strconv.FormatInt(e.Elems[2].Int, 10)+" "+e.Elems[3].Elems[0].Str)
		}
		return log
	}
	c.Do("CLIENT", "SETNAME", "me")
	value := strings.Repeat("v", 9_000)
	c.Do("SET", "k", value)
	require.Empty(t, logged("large-request"))
	c.Do("APPEND", "k", value+value)
	require.Equal(t, []string{"18033 APPEND"}, logged("large-request"))
	require.Empty(t, logged("large-reply"))
	c.Do("GET", "k")
	require.Equal(t, []string{"27010 GET"}, logged("large-reply"))

	c.Send("SET", "a", "1")
	c.Send("SET", "b", value+value)
	c.Send("GET", "k")
	for range 3 {
		c.Receive()
	}
	require.Equal(t, []string{"18030 SET", "18033 APPEND"}, logged("large-request"))
	require.Equal(t, []string{"27010 GET", "27010 GET"}, logged("large-reply"))

	require.Equal(t, "+OK", c.Do("COMMANDLOG", "RESET", "large-request").String())
	require.Equal(t, "+OK", c.Do("COMMANDLOG", "RESET", "large-reply").String())
	c.Do("MULTI")
	c.Do("SET", "b", value+value)
	c.Do("GET", "k")
	c.Do("EXEC")
	require.Equal(t, []string{"18030 SET"}, logged("large-request"))

	other.Send("BLPOP", "l", "0")
	awaitParked(t, srv, 1)
	c.Do("RPUSH", "l", value+value+value)
	require.Len(t, other.Receive().Elems, 2)
	require.Equal(t, []string{"27032 RPUSH", "18030 SET"}, logged("large-request"))
	require.Equal(t, []string{"27021 BLPOP"}, logged("large-reply"))
	entry := c.Do("COMMANDLOG", "GET", "1", "large-request").Elems[0]
	require.Equal(t, value[:128]+"... (26872 more bytes)", entry.Elems[3].Elems[2].Str)
	require.Equal(t, "me", entry.Elems[5].Str)

	c.Do("CONFIG", "SET", "commandlog-request-larger-than", "-1", "commandlog-large-reply-max-len", "0")
	c.Do("SET", "b", value+value)
	c.Do("GET", "k")
	require.Len(t, logged("large-request"), 2)
	require.Len(t, logged("large-reply"), 1)
	require.Equal(t, `["commandlog-execution-slower-than" "10000"]`, c.Do("CONFIG", "GET", "commandlog-execution-slower-than").String())
}
