package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Addresses says where an endpoint listens.
type Addresses struct {
	// Bind lists addresses of this machine, in the form of the directive bind: see bindAddress.
	Bind []string
	// Port is the port of all addresses; 0 means a free port for each.
	Port int
	// UnixSocket is the path of a unix socket; empty means no socket.
	UnixSocket string
	// UnixSocketPerm is its mode; 0 leaves the mode to the umask.
	UnixSocketPerm os.FileMode
	// Listener is served in addition, and closed with the endpoint; it may be nil. Its connections always
	// have goroutines of their own.
	Listener net.Listener
	// Secure describes a port with encryption; nil means no such port.
	Secure *Secure
	// Loops is the number of event loops for Bind and UnixSocket. 0 means that their connections have
	// goroutines, too, as always on a system without event loops (HasLoops).
	Loops int
}

// Secure says where connections are encrypted, and how.
type Secure struct {
	// Bind lists addresses in the form of Addresses.Bind.
	Bind []string
	// Port is the port of all addresses; 0 means a free port for each.
	Port int
	// Config returns the TLS configuration of the next connection. Any goroutine may call it.
	Config func() *tls.Config
}

// Listen binds all addresses and begins to serve. A second call returns net.ErrClosed. Any other error names,
// in one line, the address that could not be bound. The endpoint is then closed.
func (e *Endpoint) Listen(a Addresses) error {
	e.mu.Lock()
	if e.phase != phaseNew {
		e.mu.Unlock()
		return net.ErrClosed
	}
	err := e.listen(a)
	if err == nil {
		e.phase = phaseOpen
	}
	e.mu.Unlock()
	if err != nil {
		e.Close()
	}
	return err
}

// listen does the work of Listen. The caller holds mu, so that no connection is served before all addresses
// are bound. The event loops are an exception; they start last.
func (e *Endpoint) listen(a Addresses) error {
	if a.Listener != nil {
		e.given = true
		addr := a.Listener.Addr()
		e.addr.Store(&addr)
		e.accept(a.Listener, e.serve)
	}
	if a.UnixSocket != "" {
		if err := removeStaleSocket(a.UnixSocket); err != nil {
			return err
		}
	}
	doors, lns, err := e.listenTCP(a.Bind, a.Port)
	if err != nil {
		return err
	}
	if len(lns) == 0 && len(a.Bind) > 0 && a.UnixSocket == "" && a.Listener == nil {
		return fmt.Errorf("could not listen: this machine has none of the addresses of bind (%s)", strings.Join(a.Bind, " "))
	}
	if a.UnixSocket != "" {
		ln, err := net.Listen("unix", a.UnixSocket)
		if err != nil {
			closeAll(lns)
			return listenError(err)
		}
		lns = append(lns, ln)
	}
	if err := socketMode(a); err != nil {
		closeAll(lns)
		return err
	}
	if e.addr.Load() == nil && len(lns) > 0 {
		addr := lns[0].Addr()
		e.addr.Store(&addr)
	}
	if err := e.listenSecure(a.Secure); err != nil {
		closeAll(lns)
		return err
	}
	e.plain = front{bind: a.Bind, port: a.Port, doors: doors, used: len(doors) > 0}
	if a.UnixSocket != "" {
		e.unix = ListenerInfo{Name: "unix", Bind: []string{a.UnixSocket}}
	}
	if HasLoops && a.Loops > 0 && (len(lns) > 0 || a.Secure != nil) {
		return e.startLoops(lns, a)
	}
	for i, ln := range lns {
		if closer := e.accept(ln, e.serve); i < len(doors) {
			doors[i].close = closer
		}
	}
	return nil
}

// listenSecure serves encrypted connections.
func (e *Endpoint) listenSecure(s *Secure) error {
	if s == nil {
		return nil
	}
	doors, lns, err := e.listenTCP(s.Bind, s.Port)
	if err != nil {
		return err
	}
	if len(lns) == 0 {
		return fmt.Errorf("could not listen: this machine has none of the addresses of bind (%s)", strings.Join(s.Bind, " "))
	}
	e.secure = front{bind: s.Bind, port: s.Port, doors: doors, used: true}
	e.secureAddr.Store(&doors[0].addr)
	for i, ln := range lns {
		doors[i].close = e.accept(ln, e.serveSecure(s.Config))
	}
	return nil
}

// startLoops serves listeners on event loops.
func (e *Endpoint) startLoops(lns []net.Listener, a Addresses) error {
	loops, err := listenLoops(e, lns, a.Loops)
	if err != nil {
		closeAll(lns)
		if a.UnixSocket != "" {
			_ = os.Remove(a.UnixSocket)
		}
		return err
	}
	e.loops, e.unixSocket = loops, a.UnixSocket
	for i := range e.plain.doors {
		e.plain.doors[i].close = loops.closers[i]
	}
	return nil
}

// socketMode gives the unix socket its mode.
func socketMode(a Addresses) error {
	if a.UnixSocket != "" && a.UnixSocketPerm != 0 {
		return os.Chmod(a.UnixSocket, a.UnixSocketPerm)
	}
	return nil
}

// listenTCP binds the addresses of the directive bind. The doors have no close function yet.
func (e *Endpoint) listenTCP(words []string, port int) (doors []door, lns []net.Listener, err error) {
	for _, word := range words {
		ln, err := e.listenAt(word, port)
		if err != nil {
			closeAll(lns)
			return nil, nil, err
		}
		if ln != nil {
			doors, lns = append(doors, door{word: word, addr: ln.Addr()}), append(lns, ln)
		}
	}
	return doors, lns, nil
}

// listenAt binds one address. As in Redis, it leaves out an optional address that this machine does not have,
// and any address of a family that the machine does not support. It then returns no listener. All other
// errors are returned.
func (e *Endpoint) listenAt(word string, port int) (net.Listener, error) {
	network, host, optional := bindAddress(word)
	if host == "" { // an empty host would mean every address
		return nil, fmt.Errorf("could not listen: bind '%s' names no address", word)
	}
	ln, err := listenPlain(network, net.JoinHostPort(host, strconv.Itoa(port)))
	switch {
	case err == nil:
		return ln, nil
	case optional && errors.Is(err, syscall.EADDRNOTAVAIL), isFamilyUnknown(err):
		e.log.Warn("an address of bind is not there, and is passed over", "address", host, "cause", err)
		return nil, nil
	default:
		return nil, listenError(err)
	}
}

// listenPlain does what net.Listen does, without Multipath TCP, as Redis listens: each such socket would take
// two sockets of the system.
func listenPlain(network, address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), network, address)
}

// bindAddress explains a word of the directive bind. An address with a colon is an IPv6 address; all other
// words, including names, mean IPv4. A star stands for all addresses. optional says that the address may be
// unavailable.
func bindAddress(word string) (network, host string, optional bool) {
	host, optional = strings.CutPrefix(word, "-")
	network = "tcp4"
	if strings.Contains(host, ":") {
		network = "tcp6"
	}
	switch host {
	case "*":
		host = "0.0.0.0"
	case "::*":
		host = "::"
	}
	return network, host, optional
}

// isFamilyUnknown reports whether the machine does not support the address family.
func isFamilyUnknown(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EAFNOSUPPORT, syscall.EPFNOSUPPORT, syscall.EPROTONOSUPPORT,
		syscall.ESOCKTNOSUPPORT, syscall.ENOPROTOOPT} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// removeStaleSocket removes a unix socket that a dead server left behind, as Redis does.
func removeStaleSocket(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("unixsocket %s: the file exists and is no socket", path)
	}
	return os.Remove(path)
}

// ListenError names an address that could not be bound, in the words of Redis' log.
type ListenError struct {
	Network string // "tcp" or "unix"
	Addr    string
	Err     error
}

// Error is one line.
func (e *ListenError) Error() string {
	cause := e.Err.Error()
	if errno := syscall.Errno(0); errors.As(e.Err, &errno) {
		text := errno.Error()
		cause = "bind: " + strings.ToUpper(text[:1]) + text[1:]
	}
	if e.Network == "unix" {
		return fmt.Sprintf("Failed opening Unix socket %s: %s", e.Addr, cause)
	}
	return fmt.Sprintf("Could not create server TCP listening socket %s: %s", e.Addr, cause)
}

// Unwrap gives the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// listenError makes a *ListenError, if the error names its address.
func listenError(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Addr == nil {
		return fmt.Errorf("could not listen: %w", err)
	}
	network := "tcp"
	if op.Addr.Network() == "unix" {
		network = "unix"
	}
	return &ListenError{network, op.Addr.String(), op.Err}
}
