package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatIsKeptIsCheckedAndWritten: these directives have no effect. They are checked and written like
// others.
func TestWhatIsKeptIsCheckedAndWritten(t *testing.T) {
	c := Default()
	names, err := c.Set([]string{"Slave-Read-Only", "no", "repl-backlog-size", "1", "oom-score-adj-values", "1 2 3", "activedefrag", "YES"}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"replica-read-only", "repl-backlog-size", "oom-score-adj-values", "activedefrag"}, names)
	require.Equal(t, []string{"replica-read-only", "no", "slave-read-only", "no"}, c.Get("*-read-only"))
	require.Equal(t, []string{"repl-backlog-size", "16384"}, c.Get("repl-backlog-*ze"), "as little as Redis has at least")
	text := string(c.Rewrite([]byte("replica-read-only yes\n")))
	require.Equal(t, "replica-read-only no\n"+signature+"\nrepl-backlog-size 16kb\nactivedefrag yes\noom-score-adj-values 1 2 3\n", text)
	again, err := Parse("a.conf", []byte(text), Files{})
	require.NoError(t, err)
	require.Equal(t, c.kept, again.kept)
	require.Equal(t, []string{"activedefrag", "oom-score-adj-values"}, again.Ignored())

	clone := c.Clone()
	_, err = clone.Set([]string{"active-expire-effort", "5"}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"active-expire-effort", "1"}, c.Get("active-expire-effort"))
	started := Default()
	require.NoError(t, started.Assign(clone.Directives()))
	require.Equal(t, clone, started, "a server is started with all of them")
}

func TestWhatIsKeptIsRefusedInRedisWords(t *testing.T) {
	for pair, reason := range map[string]string{
		"active-expire-effort 11":                               "argument must be between 1 and 10 inclusive",
		"syslog-facility user":                                  "can't set immutable config",
		"replicaof no":                                          "can't set immutable config",
		"sanitize-dump-payload maybe":                           "argument(s) must be one of the following: no, yes, clients",
		"proc-title-template {nosuch}":                          errTitle.Error(),
		"proc-title-template {title}":                           errTitle.Error(),
		"cluster-announce-hostname a_b":                         errHostname.Error(),
		"cluster-announce-hostname " + strings.Repeat("a", 256): errHostnameLong.Error(),
		"cluster-announce-human-nodename a!b":                   errNodename.Error(),
		"oom-score-adj-values -2001,0,1":                        errScoreValue.Error(),
		"oom-score-adj-values 1,2":                              "wrong number of arguments",
	} {
		name, value, _ := strings.Cut(pair, " ")
		_, err := Default().Set([]string{name, strings.ReplaceAll(value, ",", " ")}, false)
		require.EqualError(t, err, "ERR CONFIG SET failed (possibly related to argument '"+name+"') - "+reason, pair)
	}
}
