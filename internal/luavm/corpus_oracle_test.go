//go:build oracle

package luavm_test

import (
	"flag"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/luavm"
	"lockserver/tests/testkit"
)

var update = flag.Bool("update", false, "write what the real Redis replies into the corpus")

// TestCorpusOracle runs the corpus in a real Redis. With -update its replies become the expected results.
func TestCorpusOracle(t *testing.T) {
	client := testkit.StartRedis(t).Client(t)
	for _, path := range corpusFiles(t) {
		if filepath.Base(path) == "later.lua" {
			continue // D108: differences that came with the patches after 7.4.1; they would change the other scripts there
		}
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

// withoutAddresses keeps scripts from comparing addresses, which differ.
const withoutAddresses = `local say = tostring local tostring = function(v) return type(v) == 'table' and 'table' or say(v) end`

// TestRandomOracle runs random scripts here and in a real Redis. To keep a difference, add it to the corpus.
func TestRandomOracle(t *testing.T) {
	client := testkit.StartRedis(t).Client(t)
	t.Log("seed", *randomSeed)
	random := rand.New(rand.NewSource(*randomSeed))
	runner, err := luavm.Compile("user_script", []byte(corpusRunner))
	require.NoError(t, err)
	state := luavm.NewState(luavm.Options{})
	defer state.Close()
	// Addresses differ, and sometimes the name of a variable, if its register was used again.
	address := regexp.MustCompile(`0x[0-9a-f]+`)
	variable := regexp.MustCompile(`(?:local|field|upvalue|global|method) '[^']*' \(a (\w+) value\)`)
	plain := func(text string) string {
		return variable.ReplaceAllString(address.ReplaceAllString(text, "0x"), "a $1 value")
	}
	for range 2000 {
		script := randomScript(random, 1+random.Intn(3)) + "return a, b, c, d"
		script = "local a, b, c, d = 1, 'b', {1}, nil " + withoutAddresses + "\n" + strings.NewReplacer("ARGV", "{4, 5}", " ^ ", " - ").Replace(script) // D65: last digits of ^
		state.SetArrays(nil, [][]byte{[]byte(script)})
		value, err := state.Run(runner)
		require.NoError(t, err, script)
		got := plain(value.String())
		want := plain(client.Do("EVAL", corpusRunner, "0", script).Str)
		if got != want {
			t.Fatalf("%s\ngot  %s\nwant %s", script, got, want)
		}
	}
}
