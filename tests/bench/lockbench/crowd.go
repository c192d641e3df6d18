package lockbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/tests/bench/benchkit"
)

// Waiters are measured on a server inside a process of this program, for two reasons. A process may not have
// as many sockets as there are waiters, and clients in the same process can connect without sockets. And the
// process can collect garbage before its memory is read, because a waiter takes less than a collector leaves
// uncollected. The server listens on TCP with the same event loops as the server program; all measured
// requests use these.

// crowdWord is the first argument of a process that runs a crowd.
const crowdWord = "serve-crowd"

// crowdSocket is the file, in the server's directory, of the socket on which a crowd gets its orders, one on
// each line. "connect N" opens N clients in the process. "park" makes client i of them wait for lock i.
// "collect" collects garbage and returns free memory to the system. The answer is "ok" or an error.
const crowdSocket = "crowd.sock"

// crowdProduct returns this program as a server.
func crowdProduct(name string, clients int) (benchkit.Product, error) {
	path, err := os.Executable()
	return benchkit.Product{Name: name, Path: path, Args: []string{crowdWord, "--maxclients", strconv.Itoa(clients + spareFiles)}}, err
}

// order sends an order to a crowd and waits until it is done.
func order(s *benchkit.Server, what string) error {
	c, err := net.Dial("unix", filepath.Join(s.Dir, crowdSocket))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, what+"\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if answer = strings.TrimSpace(answer); err == nil && answer != "ok" {
		err = fmt.Errorf("%s: %s: %s", s.Name, what, answer)
	}
	return err
}

// runCrowd runs the process of a crowd, and returns its exit code.
func runCrowd(ctx context.Context, args []string, stderr io.Writer) int {
	if err := serveCrowd(ctx, args); err != nil {
		fmt.Fprintln(stderr, "lockbench:", err)
		return 1
	}
	return 0
}

func serveCrowd(ctx context.Context, args []string) error {
	cmd, err := config.ParseArgs(args, config.OSFiles())
	if err != nil {
		return err
	}
	if cmd.Config == nil {
		return errors.New("a crowd takes the directives of a server")
	}
	srv, err := server.New(server.Options{Directives: cmd.Config.Directives(), EventLoops: true})
	if err != nil {
		return err
	}
	orders, err := net.Listen("unix", filepath.Join(cmd.Config.Dir, crowdSocket))
	if err != nil {
		return err
	}
	defer func() { _ = orders.Close() }()
	if err := srv.Start(); err != nil {
		return err
	}
	defer func() { _ = srv.Close() }()
	context.AfterFunc(ctx, func() { _ = orders.Close() })
	c := crowd{srv: srv}
	for {
		conn, err := orders.Accept()
		if err != nil {
			return nil // the end: the caller does not close it
		}
		c.obey(conn)
		_ = conn.Close()
	}
}

// crowd is a server and its clients in one process.
type crowd struct {
	srv     *server.Server
	clients *parkedClients
}

// obey carries out the orders on a connection.
func (c *crowd) obey(conn net.Conn) {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil {
		word, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		err = c.do(word, number)
	}
	answer := "ok"
	if err != nil {
		answer = benchkit.OneLine(err.Error())
	}
	_, _ = io.WriteString(conn, answer+"\n")
}

func (c *crowd) do(word, number string) error {
	switch word {
	case "connect":
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		c.clients, err = connectClients(n, func(int) (net.Conn, error) { return c.srv.Dial() })
		return err
	case "park":
		if c.clients == nil {
			return errors.New("connect first")
		}
		return c.clients.park()
	case "collect":
		collect()
		return nil
	}
	return fmt.Errorf("unknown order %q", word)
}

// collect collects garbage, and then gives the collector the same headroom as in the server program. That is
// a third of the live data, or more if the total would be less than 64 MiB.
func collect() {
	const least, leastPercent, mostPercent = 64 << 20, 33, 2000
	var m runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(max(leastPercent, min(mostPercent, int(least*100/max(m.HeapAlloc, 1)))))
}
