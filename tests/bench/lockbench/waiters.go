package lockbench

import (
	"fmt"
	"net"
	"time"

	"lockserver/tests/bench/benchkit"
)

// spareFiles is the number of descriptors that a process needs besides those of waiters.
const spareFiles = 1000

// appendWaiter appends a request that queues for held lock n.
func appendWaiter(b []byte, n int) []byte {
	return benchkit.Command(b, 7).Arg("LOCK").Numbered(lockKey, n, "").Numbered(waiter, n, "").
		Arg("PX").Arg(longLease).Arg("WAIT").Arg("0")
}

// parkedClients holds connections that wait for a different lock each. They have no buffers, which would be
// most of the generator's memory: after the first PING nothing is read from them.
type parkedClients struct{ conns []net.Conn }

// perAddress is the number of connections from one local address: less than the number of ports for outgoing
// connections.
const perAddress = 20_000

// connectTCP opens n connections, from as many loopback addresses as necessary.
func connectTCP(addr string, n int) (*parkedClients, error) {
	return connectClients(n, func(i int) (net.Conn, error) {
		d := net.Dialer{Timeout: benchkit.Patience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i/perAddress))}}
		return d.Dial("tcp", addr)
	})
}

// connectClients opens n connections. Each sends a PING and reads the reply.
func connectClients(n int, dial func(i int) (net.Conn, error)) (*parkedClients, error) {
	p := &parkedClients{conns: make([]net.Conn, 0, n)}
	ping := benchkit.Command(nil, 1).Arg("PING")
	reply := make([]byte, 64)
	for i := range n {
		c, err := dial(i)
		if err != nil {
			p.close()
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		p.conns = append(p.conns, c)
		if _, err = c.Write(ping); err == nil {
			var got int
			if got, err = c.Read(reply); err == nil && string(reply[:got]) != "+PONG\r\n" {
				err = fmt.Errorf("the server answers %q", reply[:got])
			}
		}
		if err != nil {
			p.close()
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return p, nil
}

// park makes client i wait for lock i.
func (p *parkedClients) park() error {
	var out []byte
	for i, c := range p.conns {
		out = appendWaiter(out[:0], i)
		if _, err := c.Write(out); err != nil {
			return fmt.Errorf("waiter %d: %w", i, err)
		}
	}
	return nil
}

// expectTokens reads the grant of each client.
func (p *parkedClients) expectTokens() error {
	reply := make([]byte, 64)
	deadline := time.Now().Add(benchkit.Patience)
	for i, c := range p.conns {
		_ = c.SetReadDeadline(deadline)
		n, err := c.Read(reply)
		if err == nil && (reply[0] != ':' || reply[n-1] != '\n') {
			err = fmt.Errorf("the server answers %q", reply[:n])
		}
		if err != nil {
			return fmt.Errorf("waiter %d: %w", i, err)
		}
	}
	return nil
}

func (p *parkedClients) close() {
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// awaitParked returns when n clients wait on the server.
func awaitParked(s *benchkit.Server, n int) error {
	deadline := time.Now().Add(benchkit.Patience)
	for {
		got, err := s.InfoNumber("clients", "blocked_clients")
		if err != nil || got == n {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %d clients wait instead of %d", s.Name, got, n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
