package lockbench

import (
	"fmt"
	"net"
	"time"

	"lockserver/tests/bench/benchkit"
)

// spareFiles are the descriptors that a process needs besides those of waiters.
const spareFiles = 1000

// appendWaiter queues up for held lock n.
func appendWaiter(b []byte, n int) []byte {
	return benchkit.Command(b, 7).Arg("LOCK").Numbered(lockKey, n, "").Numbered(waiter, n, "").
		Arg("PX").Arg(longLease).Arg("WAIT").Arg("0")
}

// parkedClients are connections that wait for a lock each, different ones. They have no buffers, which would
// be most of the generator's memory: after the first PING nothing is read from them.
type parkedClients struct{ conns []net.Conn }

// perAddress is how many connections share a local address: fewer than there are ports for outgoing ones.
const perAddress = 20_000

// connectTCP opens n connections, from as many addresses of the loopback network as it takes.
func connectTCP(addr string, n int) (*parkedClients, error) {
	return connectClients(n, func(i int) (net.Conn, error) {
		d := net.Dialer{Timeout: benchkit.Patience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i/perAddress))}}
		return d.Dial("tcp", addr)
	})
}

// connectClients opens n connections; each has sent a PING and read the answer.
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

// expectTokens reads the grant of each.
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

// awaitParked returns when so many clients wait on the server.
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
