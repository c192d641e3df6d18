//go:build oracle

package differential

import (
	"flag"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

var (
	seedFlag     = flag.Uint64("seed", 0, "seed of the generated commands; 0: a new one")
	commandsFlag = flag.Int("commands", 100000, "how many commands to generate")
	onlyFlag     = flag.String("only", "", "generate only commands whose names match this pattern, for work on a family")
	sequenceFlag = flag.Int("sequence", -1, "generate this sequence only")
)

// side is one of the two compared servers, with the connection that plays the commands.
type side struct {
	*testkit.Client
	// watch is another connection, on which the data is read.
	watch *testkit.Client
	dial  func() (net.Conn, error)
}

// pair holds lockserver and Redis.
type pair struct {
	t           *testing.T
	ours, redis side
	server      *server.Server
	counted     changeCount
}

// startPair starts both servers until the end of the test. Both require password if it is not empty.
func startPair(t *testing.T, password string) *pair {
	t.Helper()
	var args []string
	if password != "" {
		args = []string{"--requirepass", password}
	}
	return startPairOf(t, configOf(password), args...)
}

// startPairOf is startPair with a configuration of ours, and the equivalent arguments for Redis.
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

// configOf returns a configuration without files, on a free port.
func configOf(password string) *config.Config {
	conf := config.Default()
	conf.Port, conf.Save, conf.DBFilename, conf.RequirePass = 0, nil, "", password
	return conf
}

// in returns the pair for a subtest: connections that it opens belong to the subtest.
func (p *pair) in(t *testing.T) *pair {
	sub := &pair{t: t, server: p.server}
	sub.ours.dial, sub.redis.dial = p.ours.dial, p.redis.dial
	return sub
}

// sides returns the two servers.
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

// begin starts with new connections in this version of the protocol, and with empty servers.
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

// do sends a command to both and returns both replies.
func (p *pair) do(args ...string) (ours, redis resp.Value) {
	p.t.Helper()
	p.redis.Send(args...)
	p.ours.Send(args...)
	return p.ours.Receive(), p.redis.Receive()
}

// nothingIsSlow keeps the slow log empty, because a generator may send SLOWLOG GET on a busy machine.
func (p *pair) nothingIsSlow() { p.do("CONFIG", "SET", "slowlog-log-slower-than", "-1") }

// toleranceMS is the largest difference between deadlines that the servers computed from their clocks.
const toleranceMS = 3000

// diff lists the differences between the data of the two servers.
func (p *pair) diff() []string {
	p.t.Helper()
	return testkit.ReadDataset(p.ours.watch).Diff(testkit.ReadDataset(p.redis.watch), toleranceMS)
}
