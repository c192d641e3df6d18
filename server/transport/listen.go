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

// Addresses are where an endpoint listens.
type Addresses struct {
	// Bind are addresses of this machine, in the words of the directive bind: see bindAddress.
	Bind []string
	// Port is that of all of them; 0: a free one each.
	Port int
	// UnixSocket is the path of a unix socket; empty: none.
	UnixSocket string
	// UnixSocketPerm is its mode; 0: what the process' mask leaves.
	UnixSocketPerm os.FileMode
	// Listener is served in addition, and closed with the endpoint; nil: none. Its connections have
	// goroutines of their own, whatever kind they are.
	Listener net.Listener
	// Secure is a port on which connections are encrypted; nil: there is none.
	Secure *Secure
	// Loops is how many event loops serve Bind and UnixSocket; 0: these connections have goroutines, too, as
	// they have in any case on a system without event loops (HasLoops).
	Loops int
}

// Secure says where connections are encrypted, and how.
type Secure struct {
	// Bind are addresses as those of Addresses.
	Bind []string
	// Port is that of all of them; 0: a free one each.
	Port int
	// Config returns what the next connection is encrypted by. Any goroutine may call it.
	Config func() *tls.Config
}

// Listen binds all addresses, and begins to serve; once: otherwise the error is net.ErrClosed. Any other
// error says in a line what could not be bound. The endpoint is closed then.
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

// listen is Listen. The caller holds mu, so that no connection is served before all addresses are bound, but
// for those of event loops, which are last.
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
		e.unix = Place{Name: "unix", Bind: []string{a.UnixSocket}}
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

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}

// socketMode gives the unix socket its mode.
func socketMode(a Addresses) error {
	if a.UnixSocket != "" && a.UnixSocketPerm != 0 {
		return os.Chmod(a.UnixSocket, a.UnixSocketPerm)
	}
	return nil
}

// listenTCP binds the addresses of the directive bind. The doors have nothing yet that closes them.
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

// listenAt binds one address. As in Redis, an optional address that this machine does not have is left out.
// So is any address of a family that the machine does not know. Then there is no listener. All other errors
// are returned.
func (e *Endpoint) listenAt(word string, port int) (net.Listener, error) {
	network, host, optional := bindAddress(word)
	if host == "" { // which would mean every address there is
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

// listenPlain is net.Listen without Multipath TCP, as Redis listens: each such socket is two of the system's.
func listenPlain(network, address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), network, address)
}

// bindAddress is what a word of the directive bind means: an address with a colon is one of IPv6,
// and of that only; all others, names too, are of IPv4. A star stands for all addresses. optional
// says that it may be unavailable.
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

// isFamilyUnknown reports whether the machine does not know the kind of address.
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

// ListenError says which address could not be bound, in the words of Redis' log.
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

// listenError makes a *ListenError, if it is known what it is about.
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
