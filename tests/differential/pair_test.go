//go:build oracle

package differential

import (
	"flag"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/internal/testkit"
	"lockserver/server"
)

var (
	seedFlag     = flag.Uint64("seed", 0, "seed of the generated commands; 0: a new one")
	commandsFlag = flag.Int("commands", 100000, "how many commands to generate")
	onlyFlag     = flag.String("only", "", "generate only commands whose names match this pattern, for work on a family")
	sequenceFlag = flag.Int("sequence", -1, "generate this sequence only")
)

// side is one of the two servers that are compared, with the connection that plays the commands.
type side struct {
	*testkit.Client
	// watch is a connection of its own, on which the data is read.
	watch *testkit.Client
	dial  func() (net.Conn, error)
}

// pair is lockserver and Redis.
type pair struct {
	t           *testing.T
	ours, redis side
	server      *server.Server
	counted     changeCount
}

// startPair starts both servers for the length of the test. password, if not empty, is asked for by both.
func startPair(t *testing.T, password string) *pair {
	t.Helper()
	var args []string
	if password != "" {
		args = []string{"--requirepass", password}
	}
	return startPairOf(t, configOf(password), args...)
}

// startPairOf is startPair with a configuration of ours, and the arguments that give Redis the same.
func startPairOf(t *testing.T, conf *config.Config, args ...string) *pair {
	t.Helper()
	p := &pair{t: t}
	srv, err := server.New(server.Options{Directives: conf.Directives(), Seed: 1})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	p.server = srv
	redis := testkit.StartRedis(t, args...)
	p.ours.dial, p.redis.dial = srv.Dial, redis.Dial
	p.reconnect()
	if conf.RequirePass == "" {
		require.Contains(t, p.redis.Do("INFO", "server").Str, "redis_version:7.4.", "the oracle must be a Redis 7.4")
	}
	return p
}

// configOf is a configuration without files, on a free port.
func configOf(password string) *config.Config {
	conf := config.Default()
	conf.Port, conf.Save, conf.DBFilename, conf.RequirePass = 0, nil, "", password
	return conf
}

// in is the pair as a subtest sees it: the connections that it opens are the subtest's.
func (p *pair) in(t *testing.T) *pair {
	sub := &pair{t: t, server: p.server}
	sub.ours.dial, sub.redis.dial = p.ours.dial, p.redis.dial
	return sub
}

// sides are the two servers.
func (p *pair) sides() []*side { return []*side{&p.ours, &p.redis} }

// reconnect gives both sides new connections: database 0, version 2.
func (p *pair) reconnect() {
	p.t.Helper()
	for _, s := range p.sides() {
		if s.Client != nil {
			s.Close()
			s.watch.Close()
		}
		s.Client, s.watch = testkit.Dial(p.t, s.dial), testkit.Dial(p.t, s.dial)
	}
}

// begin starts on new connections in this version of the protocol, and on empty servers.
func (p *pair) begin(version int) {
	p.t.Helper()
	p.reconnect()
	for _, s := range p.sides() {
		require.Equal(p.t, "+OK", s.watch.Do("FLUSHALL").String())
		if version == 3 {
			s.Hello(3)
		}
	}
}

// do sends one command to both and returns both replies.
func (p *pair) do(args ...string) (ours, redis resp.Value) {
	p.t.Helper()
	p.redis.Send(args...)
	p.ours.Send(args...)
	return p.ours.Receive(), p.redis.Receive()
}

// nothingIsSlow keeps the slow log empty: words that a generator makes may be SLOWLOG GET, and the machine
// busy.
func (p *pair) nothingIsSlow() { p.do("CONFIG", "SET", "slowlog-log-slower-than", "-1") }

// toleranceMS is how far deadlines may be apart that both servers worked out from their clocks.
const toleranceMS = 3000

// diff lists how the data of the two servers differs.
func (p *pair) diff() []string {
	p.t.Helper()
	return testkit.ReadDataset(p.ours.watch).Diff(testkit.ReadDataset(p.redis.watch), toleranceMS)
}
