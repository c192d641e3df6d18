package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/inspect"
)

// healthTimeout is how long a server has to answer that it is well.
const healthTimeout = 3 * time.Second

// runHealth is `lockserver health` from its arguments, without that word, to its exit code: 0 if the server
// answers, 1 if not. It is for containers without another client.
func runHealth(args []string, stdout, stderr io.Writer) int {
	var r remote
	f := flag.NewFlagSet("health", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	r.flags(f)
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, healthUsage)
		return 0
	}
	if err == nil && f.NArg() > 0 {
		err = errors.New("try: lockserver health --help")
	}
	if err == nil {
		err = r.askHealth()
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver health: %v\n", err)
		return 1
	}
	fmt.Fprintln(stdout, "ok")
	return 0
}

// askHealth returns nil if the server answers PING. One that wants a password which was not given serves
// those who have it, and is well.
func (r *remote) askHealth() error {
	o, err := r.options()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	nc, err := inspect.Dial(ctx, o)
	if err != nil {
		return err
	}
	c := call.New(nc, healthTimeout)
	defer c.Close()
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
	return servesData(c)
}

// servesData returns nil if the server answers a command on data, or redirects it to the one that does (with
// READONLY if clients find the leader by Sentinels). A member of a group without a leader answers PING and
// serves no client. A user without rights is answered.
func servesData(c *call.Conn) error {
	_, err := c.Do("EXISTS", "lockserver-health")
	if err == nil {
		return nil
	}
	for _, served := range []string{"MOVED ", "READONLY ", "NOPERM ", "NOAUTH "} {
		if strings.HasPrefix(err.Error(), served) {
			return nil
		}
	}
	return err
}

const healthUsage = `Usage: lockserver health [--flag value ...]

Tells whether a running server serves its clients: it connects, sends PING, and reads a key, for health checks of containers.
A server that is still loading, cannot keep what is written, or is in a group without a leader, does not; one that asks for a password does, also without it.
` + remoteUsage
