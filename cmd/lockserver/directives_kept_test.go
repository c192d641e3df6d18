//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// notWalked are the directives that the tests leave out, with reasons. The directives of scenes are not
// listed here.
var notWalked = map[string]string{
	"daemonize":          "The process that the test has started would end, and the test could not end the other.",
	"syslog-enabled":     "The lines would go to the log of the machine on which the tests run.",
	"cluster-enabled":    "With yes the only value of databases is 1.",
	"shards":             "More than one have no file to rewrite.",
	"tls-cluster":        "The only value is no: there is no bus of a cluster.",
	"socket-mark-id":     "The only value is 0: sockets are not marked.",
	"tls-dh-params-file": "The only value is empty: there is no key exchange by DHE.",
}

// walkedValues are the values of directives for which none of likelyValues is another valid one, or a useful
// one.
var walkedValues = map[string]string{
	"client-output-buffer-limit": "normal 1mb 2mb 3 slave 4mb 5mb 6 pubsub 7mb 8mb 9", "save": "900 1 300 10", "notify-keyspace-events": "AKE",
	"proc-title-template": "{title} {listen-addr}", "oom-score-adj-values": "1 2 3", "latency-tracking-info-percentiles": "50 99.5",
	"io-threads": "2", "maxmemory": "1gb", "lock-class": "orders order:* cart:*", "server-cpulist": "0", "bio-cpulist": "0",
	"aof-rewrite-cpulist": "0", "bgsave-cpulist": "0", "locale-collate": "C", "tls-protocols": "TLSv1.2", "ignore-warnings": "ARM64-COW-BUG",
	"bind-source-addr": "127.0.0.1", "cluster-announce-ip": "127.0.0.2", "masteruser": "two words", "otlp-endpoint": "http://127.0.0.1:9",
	"appendfilename": "log.aof", "appenddirname": "aofs", "dbfilename": "data.rdb",
	"oom-score-adj": "relative", "audit-log": "audit log", "watchdog-period": "1024", "shutdown-on-sigint": "nosave now", "shutdown-on-sigterm": "force",
}

var likelyValues = []string{"no", "yes", "17", "2", "64", "1024", "1048576"}

// anotherValue is a value of a directive that is not its default. ok is false if the test leaves it out.
func anotherValue(t *testing.T, e config.Entry) (value string, ok bool) {
	t.Helper()
	name := e.Names[0]
	if notWalked[name] != "" || inScenes[name] || config.Default().Get(name) == nil { // CONFIG does not know those of lines of their own
		return "", false
	}
	was := config.Default().Get(name)
	for _, value := range append(append([]string{walkedValues[name]}, likelyValues...), e.Words...) {
		c := config.Default()
		if value != "" && c.Assign(map[string]string{name: value}) == nil && !slices.Equal(c.Get(name), was) {
			return value, true
		}
	}
	require.Fail(t, "there is no other value", name)
	return "", false
}

// walked are the directives of the tests below in order, each with a value that is not its default.
func walked(t *testing.T) (pairs [][2]string) {
	t.Helper()
	r := config.NewReference()
	for _, s := range r.Sections {
		for _, e := range s.Entries {
			if value, ok := anotherValue(t, e); ok {
				pairs = append(pairs, [2]string{e.Names[0], value})
			}
		}
	}
	for _, name := range r.Accepted {
		if value, ok := anotherValue(t, config.Entry{Names: []string{name}, Words: []string{"clients", "panic", "hostname"}}); ok {
			pairs = append(pairs, [2]string{name, value})
		}
	}
	require.Greater(t, len(pairs), 150)
	return pairs
}

// kept is one way of a program's directives: where it runs, and how it is started again.
type kept struct {
	program, dir string
	scene        scene
	*child
	*testkit.Client
}

func (k *kept) in(name string) string { return filepath.Join(k.dir, name) }

// run starts the program with the file redis.conf and these arguments, and connects to it.
func (k *kept) run(t *testing.T, args ...string) {
	t.Helper()
	all := []string{"redis.conf"}
	for _, arg := range args {
		all = append(all, k.here(arg))
	}
	k.child = runChild(t, testkit.Command{Program: k.program, Dir: k.dir, LogFile: k.in("log"), Addr: k.in("s"), Args: all})
	require.NoError(t, k.AwaitReady())
	k.Client = k.child.Client(t)
	if k.scene.password != "" {
		k.Do("AUTH", k.scene.password) // an error if there is none yet
	}
}

// here is a value in which $DIR is the directory.
func (k *kept) here(value string) string { return strings.ReplaceAll(value, "$DIR", k.dir) }

// end kills the program.
func (k *kept) end(t *testing.T) {
	t.Helper()
	require.NoError(t, k.Signal(syscall.SIGKILL))
	k.exit(t)
	require.NoError(t, os.Remove(k.in("s")))
}

// values returns the reply of CONFIG GET for some directives.
func (k *kept) values(pairs [][2]string) map[string]string {
	all := make(map[string]string)
	for _, pair := range pairs {
		if shown := k.Do("CONFIG", "GET", pair[0]); len(shown.Elems) == 2 {
			all[pair[0]] = strings.ReplaceAll(shown.Elems[1].Str, k.dir, "$DIR")
		}
	}
	return all
}

// newKept makes a directory with the files of a scene, and one of these lines.
func newKept(t *testing.T, program string, s scene, lines string) *kept {
	t.Helper()
	k := &kept{program: program, dir: socketDir(t), scene: s}
	for name, text := range s.files {
		require.NoError(t, os.WriteFile(k.in(name), []byte(text), 0o600))
	}
	require.NoError(t, os.WriteFile(k.in("redis.conf"), []byte(k.here(lines)), 0o600))
	return k
}

// file returns the contents of the configuration file.
func (k *kept) file(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(k.in("redis.conf"))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), k.dir, "$DIR")
}

// configLines are the pairs as lines of a file.
func configLines(pairs [][2]string) string {
	var b strings.Builder
	for _, pair := range pairs {
		b.WriteString(pair[0] + " " + quoted(pair[1]) + "\n")
	}
	return b.String()
}

// quoted is a value as a file states it. Lists are several words there.
func quoted(value string) string {
	if strings.ContainsAny(value, " {") && (value == "two words" || value == "audit log" || strings.Contains(value, "{")) {
		return `"` + value + `"`
	}
	return value
}

// ways has the replies of CONFIG GET after each way in which directives can be given.
type ways struct {
	File, FileAgain, Line, Before, Set, SetAgain map[string]string
	Rewritten                                    string   // the file after CONFIG REWRITE
	Refused                                      []string // what CONFIG SET did not take
}

// walk takes the directives of a scene through the file and CONFIG REWRITE, the command line, and CONFIG
// SET and CONFIG REWRITE, each with a restart.
func walk(t *testing.T, program string, s scene) (w ways) {
	t.Helper()
	with := reachable
	if s.places {
		with = nil
	}
	with = append(slices.Clone(with), s.with...)
	k := newKept(t, program, s, configLines(s.pairs))
	k.run(t, with...)
	w.File = k.values(s.pairs)
	require.Equal(t, "+OK", k.Do("CONFIG", "REWRITE").String())
	k.end(t)
	w.Rewritten = k.file(t)
	k.run(t, with...)
	w.FileAgain = k.values(s.pairs)
	k.end(t)

	k = newKept(t, program, s, "")
	args := with
	for _, pair := range s.pairs {
		args = append(args, "--"+pair[0], pair[1])
	}
	k.run(t, args...)
	w.Line = k.values(s.pairs)
	k.end(t)

	k = newKept(t, program, s, "enable-protected-configs yes\n")
	k.run(t, append(slices.Clone(reachable), s.with...)...)
	w.Before = k.values(s.pairs)
	for _, pair := range s.pairs {
		if reply := k.Do("CONFIG", "SET", pair[0], k.here(pair[1])); reply.IsError() {
			require.Contains(t, reply.Str, "can't set immutable config", pair)
			w.Refused = append(w.Refused, pair[0])
		}
	}
	w.Set = k.values(s.pairs)
	require.Equal(t, "+OK", k.Do("CONFIG", "REWRITE").String())
	k.end(t)
	k.run(t, with...)
	w.SetAgain = k.values(s.pairs)
	k.end(t)
	return w
}

// TestDirectivesAreKept: each directive, also one without an effect, that is given by the file, the command
// line or CONFIG SET is shown, and outlives CONFIG REWRITE and a restart.
func TestDirectivesAreKept(t *testing.T) {
	t.Parallel()
	pairs := walked(t)
	want, wantSet := make(map[string]string), make(map[string]string)
	w := walk(t, testkit.Lockserver(t), scene{pairs: pairs})
	for _, pair := range pairs {
		c := config.Default()
		require.NoError(t, c.Assign(map[string]string{pair[0]: pair[1]}))
		want[pair[0]] = c.Get(pair[0])[1]
		wantSet[pair[0]] = want[pair[0]]
		if pair[0] == "repl-backlog-size" {
			wantSet[pair[0]] = "16384" // CONFIG SET raises it
		}
		if slices.Contains(w.Refused, pair[0]) {
			wantSet[pair[0]] = config.Default().Get(pair[0])[1]
		}
	}
	wantSet["enable-protected-configs"] = "yes"
	require.Equal(t, want, w.File)
	require.True(t, strings.HasPrefix(w.Rewritten, configLines(pairs)), "the operator's lines stay as they are: %s", w.Rewritten)
	require.Equal(t, want, w.FileAgain)
	require.Equal(t, want, w.Line)
	require.Equal(t, wantSet, w.Set)
	require.Equal(t, wantSet, w.SetAgain)
}
