//go:build unix

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// scene has the files, ports, the password and the other directives that some directives need.
type scene struct {
	name   string
	pairs  [][2]string       // directives, with values in which $DIR is the directory of the program
	files  map[string]string // by name in that directory
	with   []string          // further arguments of each start
	places bool              // the pairs are what reachable is for the others
	ours   bool              // Redis does not have them, or not in every build

	password string // the test logs in with it
}

// reachable are the arguments by which the test reaches a program.
var reachable = []string{"--port", "0", "--unixsocket", "$DIR/s", "--dir", "$DIR", "--pidfile", "$DIR/pid", "--logfile", "$DIR/log"}

// inScenes are the directives of scenes, which the walk of all others leaves out.
var inScenes = func() map[string]bool {
	all := make(map[string]bool)
	for _, name := range strings.Fields("port bind unixsocket unixsocketperm dir pidfile logfile requirepass requirepass-file masterauth-file " +
		"aclfile tls-port tls-cert-file tls-key-file tls-ca-cert-file admin-port test-mode test-topology raft-id raft-listen raft-members cluster-name cluster-shard cluster-slots cluster-peers " +
		"replicaof supervised exit-with-parent maxclients") {
		all[name] = true
	}
	return all
}()

// scenes are those of the directives that need one.
func scenes(t *testing.T) []scene {
	t.Helper()
	authority := testkit.NewAuthority(t)
	issued := authority.Issue("server", time.Now().Add(time.Hour))
	member, its := "127.0.0.1:"+testkit.FreePort(t), testkit.FreePort(t)
	shard, shardsPort := "127.0.0.1:"+testkit.FreePort(t), testkit.FreePort(t)
	return []scene{
		{name: "places", places: true, pairs: [][2]string{{"port", testkit.FreePort(t)}, {"bind", "127.0.0.1 -::1"}, {"unixsocket", "$DIR/s"},
			{"unixsocketperm", "700"}, {"dir", "$DIR"}, {"pidfile", "$DIR/pid"}, {"logfile", "$DIR/log"}}},
		{name: "a password", password: "secret", pairs: [][2]string{{"requirepass", "secret"}}},
		{name: "a password in a file", password: "secret", ours: true, files: map[string]string{"pass": "secret\n", "auth": "other\n"},
			pairs: [][2]string{{"requirepass-file", "$DIR/pass"}, {"masterauth-file", "$DIR/auth"}}},
		{name: "users in a file", files: map[string]string{"users": "user default on nopass ~* &* +@all\nuser ann on >secret ~* &* +@all\n"},
			pairs: [][2]string{{"aclfile", "$DIR/users"}}},
		{name: "certificates", ours: true, pairs: [][2]string{{"tls-cert-file", issued.CertFile}, {"tls-key-file", issued.KeyFile},
			{"tls-ca-cert-file", authority.File}, {"tls-port", testkit.FreePort(t)}}},
		{name: "the admin port", ours: true, pairs: [][2]string{{"admin-port", testkit.FreePort(t)}}},
		{name: "test mode", ours: true, with: []string{"--save", "", "--port", testkit.FreePort(t)}, pairs: [][2]string{{"test-mode", "yes"}, {"test-topology", "cluster"}}},
		{name: "a group of one", ours: true, with: []string{"--save", "", "--port", its}, pairs: [][2]string{{"raft-id", "a"},
			{"raft-listen", member}, {"raft-members", "a=" + member + "/127.0.0.1:" + its}}},
		{name: "a group that is a shard", ours: true, with: []string{"--save", "", "--port", shardsPort, "--cluster-enabled", "yes", "--raft-id", "a",
			"--raft-listen", shard, "--raft-members", "a=" + shard + "/127.0.0.1:" + shardsPort},
			pairs: [][2]string{{"cluster-name", "shop"}, {"cluster-shard", "s1"}, {"cluster-slots", "0-16383"}, {"cluster-peers", "127.0.0.1:1"}}},
		{name: "a master that is not there", pairs: [][2]string{{"replicaof", "127.0.0.1 1"}}},
		{name: "a supervisor", pairs: [][2]string{{"supervised", "auto"}}},
		{name: "a parent", ours: true, pairs: [][2]string{{"exit-with-parent", "yes"}}},
		{name: "few clients", pairs: [][2]string{{"maxclients", "100"}}},
	}
}

// TestDirectivesOfScenesAreKept is TestDirectivesAreKept for the directives that need more than a value.
func TestDirectivesOfScenesAreKept(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, s := range scenes(t) {
		for _, pair := range s.pairs {
			seen[pair[0]] = true
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := walk(t, testkit.Lockserver(t), s)
			want, wantSet := make(map[string]string), make(map[string]string)
			for _, pair := range s.pairs {
				want[pair[0]], wantSet[pair[0]] = pair[1], pair[1]
				if slices.Contains(w.Refused, pair[0]) {
					wantSet[pair[0]] = w.Before[pair[0]]
				}
			}
			require.Equal(t, want, w.File)
			require.True(t, strings.HasPrefix(w.Rewritten, configLines(s.pairs)), "the operator's lines stay as they are: %s", w.Rewritten)
			require.Equal(t, want, w.FileAgain)
			require.Equal(t, want, w.Line)
			require.Equal(t, wantSet, w.Set)
			require.Equal(t, wantSet, w.SetAgain)
		})
	}
	require.Equal(t, inScenes, seen)
}
