package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/inspect"
)

const (
	// healthTimeout is the largest time for the server's answer.
	healthTimeout = 3 * time.Second
	// healthFlags is a variable of the environment with more flags. The health check of a container image
	// cannot change its words.
	healthFlags = "LOCKSERVER_HEALTH"
)

// probe is the question of a health check.
type probe struct {
	remote
	live, ready bool
	maxLag      time.Duration // the largest lag of a member of a raft group
	alarms      string        // problems of a raft group for an operator
}

// runHealth is `lockserver health` from its arguments, without that word, to its exit code: 0 if the server
// is well, 1 if not. It is for containers without another client.
func runHealth(args []string, stdout, stderr io.Writer) int {
	var p probe
	f := flag.NewFlagSet("health", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	p.flags(f)
	f.BoolVar(&p.live, "live", false, "")
	f.BoolVar(&p.ready, "ready", false, "")
	f.DurationVar(&p.maxLag, "max-lag", 10*time.Second, "")
	err := f.Parse(append(strings.Fields(os.Getenv(healthFlags)), args...))
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, healthUsage)
		return 0
	}
	if err == nil && (f.NArg() > 0 || p.live && p.ready) {
		err = errors.New("try: lockserver health --help")
	}
	if err == nil {
		err = p.ask()
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver health: %v\n", err)
		return 1
	}
	fmt.Fprintln(stdout, "ok")
	if p.alarms != "" {
		fmt.Fprintf(stderr, "lockserver health: alarms: %s\n", p.alarms)
	}
	return 0
}

// ask returns nil if the server is well.
func (p *probe) ask() error {
	o, err := p.options()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	addrs := []string{o.Addr}
	for i := 0; i < len(addrs); i++ {
		o.Addr = addrs[i]
		all, err := p.askOne(ctx, &o)
		switch {
		case err != nil && i > 0:
			return fmt.Errorf("the shard at %s: %w", o.Addr, err)
		case err != nil:
			return err
		case i == 0 && len(all) > 1:
			addrs = append(addrs, slices.DeleteFunc(all, func(addr string) bool { return addr == o.Addr })...)
		}
	}
	return nil
}

// askOne asks the server at one address, and returns the addresses of all shards of its process.
func (p *probe) askOne(ctx context.Context, o *inspect.Target) (all []string, err error) {
	nc, err := inspect.Dial(ctx, *o)
	if err != nil {
		return nil, err
	}
	c := call.New(nc, healthTimeout)
	defer c.Close()
	if p.live {
		return nil, lives(c)
	}
	if err := p.isReady(c, o); err != nil {
		return nil, err
	}
	return inspect.ShardsOf(c, o.Addr), nil
}

// lives returns nil if the process answers, even with an error because it loads its data, requires a
// password, or has no leader.
func lives(c *call.Conn) error {
	_, err := c.Do("PING")
	if errors.As(err, new(call.Error)) {
		return nil
	}
	return err
}

// isReady returns nil if the server answers PING and serves clients. A server that requires a password which
// was not given is ready as well.
func (p *probe) isReady(c *call.Conn, o *inspect.Target) error {
	if o.Password != "" {
		words := []string{"AUTH", o.User, o.Password}
		if o.User == "" {
			words = []string{"AUTH", o.Password}
		}
		if _, err := c.Do(words...); err != nil {
			return err
		}
	}
	pong, err := c.Do("PING")
	switch {
	case err != nil && o.Password == "" && strings.HasPrefix(err.Error(), "NOAUTH "):
		return nil
	case err == nil && pong.Str != "PONG":
		return fmt.Errorf("PING was answered with %s", pong)
	case err != nil:
		return err
	}
	return p.servesData(c)
}

// servesData returns nil if the server answers a command on data, or redirects it to the server that does
// (with READONLY if clients find the leader by Sentinels). A member of a group without a leader answers PING
// and serves no client. A user without rights gets an answer, too.
func (p *probe) servesData(c *call.Conn) error {
	_, err := c.Do("EXISTS", "lockserver-health")
	switch {
	case err == nil, strings.HasPrefix(err.Error(), "MOVED "), strings.HasPrefix(err.Error(), "READONLY "):
		return p.keepsUp(c)
	case strings.HasPrefix(err.Error(), "NOPERM "), strings.HasPrefix(err.Error(), "NOAUTH "):
		return nil
	}
	return err
}

// keepsUp returns nil if the lag of a group's member is small. It also stores alarms, which are no reason to
// send clients elsewhere or to restart a process. If the user may not ask for the lag, keepsUp returns nil. A
// server outside a group has no such fields.
func (p *probe) keepsUp(c *call.Conn) error {
	info, err := c.Do("INFO", "raft")
	if err != nil {
		return nil
	}
	p.alarms, _ = inspect.Field(info.Str, "raft_alarm")
	text, ok := inspect.Field(info.Str, "raft_lag_ms")
	ms, bad := strconv.ParseInt(text, 10, 64)
	if lag := time.Duration(ms) * time.Millisecond; ok && bad == nil && lag > p.maxLag {
		return fmt.Errorf("it does not have what was committed in the last %v", lag.Truncate(time.Millisecond))
	}
	return nil
}

const healthUsage = `Usage: lockserver health [--live | --ready] [--flag value ...]

Tells by its exit code whether a running server is well, for health checks of containers and services.

  --live             the process answers, whatever it answers
  --ready            it serves clients, or follows the leader of its raft group; without --live this is what is asked
  --max-lag 10s      how old the data of a member that follows may be

Of a process with several shards all shards are asked, if the user may call CONFIG GET.

In a raft group the alarms of the server are printed as well. They do not change the exit code.

A server that is still loading, cannot keep what is written, or is in a group without a leader is not ready. One that asks
for a password which is not given is. LOCKSERVER_HEALTH in the environment has more flags.
` + remoteUsage
