package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"lockserver/internal/resp"
)

// healthTimeout is how long a server has to answer that it is well.
const healthTimeout = 3 * time.Second

// runHealth is `lockserver health` from its arguments, without that word, to its exit code: 0 if the server
// answers, 1 if not, for containers that have no other program to ask with.
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
	conn, err := dialHealth(o.Addr, o.TLS)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(healthTimeout)); err != nil {
		return err
	}
	replies := bufio.NewReader(conn)
	if o.Password != "" {
		words := []string{"AUTH", o.User, o.Password}
		if o.User == "" {
			words = []string{"AUTH", o.Password}
		}
		if err := askLine(conn, replies, "+OK", words...); err != nil {
			return err
		}
	}
	err = askLine(conn, replies, "+PONG", "PING")
	if o.Password == "" && err != nil && strings.HasPrefix(err.Error(), "NOAUTH ") {
		return nil
	}
	return err
}

// dialHealth connects to host:port, or to the path of a unix socket.
func dialHealth(addr string, secure *tls.Config) (net.Conn, error) {
	network := "tcp"
	if strings.Contains(addr, "/") {
		network = "unix"
	}
	dialer := &net.Dialer{Timeout: healthTimeout}
	if secure != nil {
		return tls.DialWithDialer(dialer, network, addr, secure)
	}
	return dialer.Dial(network, addr)
}

// askLine sends a command whose reply is one line, and returns an error that is the reply if it is not the
// one that is wanted.
func askLine(conn io.Writer, replies *bufio.Reader, want string, words ...string) error {
	request := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		request = resp.AppendBulk(request, word)
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	line, err := replies.ReadString('\n')
	if err != nil {
		return err
	}
	if line = strings.TrimRight(line, "\r\n"); line != want {
		return errors.New(strings.TrimPrefix(line, "-"))
	}
	return nil
}

const healthUsage = `Usage: lockserver health [--flag value ...]

Tells whether a running server serves its clients: it connects and sends PING, for health checks of containers. A server
that is still loading, or cannot keep what is written, does not; one that asks for a password does, also without it.
` + remoteUsage
