package commands

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// scriptCase is a case of a script, a file of commands and the replies of Redis 7.4. To make a script, write
// the commands and run go test ./commands -update, which fills in the replies from Redis (it needs ORACLE:
// see testkit.Oracle).
//
//	# a comment
//	== the name of a case, which begins with empty databases, database 0 and RESP2
//	SET k "a b\n"
//	  +OK
//
// A command is written as for redis-cli. HELLO and SELECT have no reply here.
type scriptCase struct {
	name  string
	steps []scriptStep
}

// scriptStep is a command with its reply, or a line that is neither.
type scriptStep struct {
	line  string
	reply string
}

// isCommand reports whether the step has a command.
func (s *scriptStep) isCommand() bool { return s.line != "" && s.line[0] != '#' }

// hasReply reports whether the reply is stored in the file.
func (s *scriptStep) hasReply() bool {
	return s.isCommand() && !strings.HasPrefix(s.line, "HELLO ") && !strings.HasPrefix(s.line, "SELECT ")
}

func (s *scriptStep) args(t *testing.T) []string {
	t.Helper()
	split, ok := resp.SplitWords(nil, []byte(s.line))
	require.True(t, ok, s.line)
	var args []string
	for _, w := range split {
		args = append(args, string(w))
	}
	return args
}

// playScript requires the replies of a script from the commands of these families. If a Redis is installed it
// must give the same replies.
func playScript(t *testing.T, file string, families ...func() []Row) {
	if *update {
		updateScript(t, file)
	}
	cases := playDocumented(t, file, families...)
	if !withOracle {
		return
	}
	t.Run("on redis", func(t *testing.T) {
		redis := startOracle(t)
		for _, c := range cases {
			reset(redis)
			c.play(t, redis.do)
		}
	})
}

// playDocumented requires the replies of a script with commands that Redis 7.4 does not have. Such a script
// is written by hand, and its comments say where the replies are documented.
func playDocumented(t *testing.T, file string, families ...func() []Row) []*scriptCase {
	t.Helper()
	cases := readScript(t, file)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, families...)
			c.play(t, f.do)
		})
	}
	return cases
}

func (c *scriptCase) play(t *testing.T, do func(...string) resp.Value) {
	t.Helper()
	for _, s := range c.steps {
		if s.isCommand() {
			reply := do(s.args(t)...)
			if s.hasReply() {
				assert.Equal(t, s.reply, reply.String(), "%s: %s", c.name, s.line)
			}
		}
	}
}

func reset(redis *oracle) {
	redis.do("FLUSHALL")
	redis.do("HELLO", "2")
	redis.do("SELECT", "0")
}

func readScript(t *testing.T, file string) []*scriptCase {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	cases := []*scriptCase{{name: "begin"}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		c := cases[len(cases)-1]
		if name, ok := strings.CutPrefix(line, "== "); ok {
			cases = append(cases, &scriptCase{name: name})
		} else if reply, ok := strings.CutPrefix(line, "  "); ok {
			require.NotEmpty(t, c.steps, "%s: a reply to nothing", c.name)
			c.steps[len(c.steps)-1].reply = reply
		} else {
			c.steps = append(c.steps, scriptStep{line: line})
		}
	}
	require.Greater(t, len(cases), 1, "no case in %s", file)
	return cases
}

// updateScript writes the script again with the replies of Redis.
func updateScript(t *testing.T, file string) {
	redis := startOracle(t)
	var b strings.Builder
	for i, c := range readScript(t, file) {
		reset(redis)
		if i > 0 {
			b.WriteString("== " + c.name + "\n")
		}
		for _, s := range c.steps {
			b.WriteString(s.line + "\n")
			if s.isCommand() {
				reply := redis.do(s.args(t)...)
				if s.hasReply() {
					b.WriteString("  " + reply.String() + "\n")
				}
			}
		}
	}
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
}
