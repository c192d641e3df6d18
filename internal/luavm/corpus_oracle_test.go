//go:build oracle

package luavm_test

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

var update = flag.Bool("update", false, "write what the real Redis replies into the corpus")

// TestCorpusOracle plays the corpus against a real Redis. With -update its replies become the expected ones.
func TestCorpusOracle(t *testing.T) {
	client := testkit.StartRedis(t).Client(t)
	for _, path := range corpusFiles(t) {
		var text strings.Builder
		for _, c := range readCorpus(t, path) {
			reply := client.Do("EVAL", corpusRunner, "0", c.script)
			if *update {
				text.WriteString(c.script + "\n" + resultMark + strconv.Quote(reply.Str) + "\n\n")
				continue
			}
			if got := reply.Str; got != c.want {
				t.Errorf("%s\nredis %s\nfile  %s", c.script, got, c.want)
			}
		}
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
		}
	}
}
