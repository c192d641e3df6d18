package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockserver/internal/config"
)

// acceptPause is how long new connections wait after there were no descriptors left.
const acceptPause = 100 * time.Millisecond

// listen binds every configured address. The caller holds life.
func (srv *Server) listen() error {
	c := srv.executor.config
	var tcp []string
	if c.ListensTCP() {
		tcp = c.Bind
	}
	if ln := srv.executor.opts.Listener; ln != nil {
		srv.addr = ln.Addr()
		srv.accept(ln)
	}
	if c.UnixSocket != "" {
		if err := removeStaleSocket(c.UnixSocket); err != nil {
			return err
		}
	}
	lns, err := srv.listenTCP(tcp, c.Port)
	if err != nil {
		return err
	}
	if len(lns) == 0 && len(tcp) > 0 && c.UnixSocket == "" && srv.executor.opts.Listener == nil {
		return fmt.Errorf("could not listen: this machine has none of the addresses of bind (%s)", strings.Join(tcp, " "))
	}
	if c.UnixSocket != "" {
		ln, err := net.Listen("unix", c.UnixSocket)
		if err != nil {
			closeAll(lns)
			return listenError(err)
		}
		lns = append(lns, ln)
	}
	if err := socketMode(c); err != nil {
		closeAll(lns)
		return err
	}
	if srv.addr == nil && len(lns) > 0 {
		srv.addr = lns[0].Addr()
	}
	if !srv.executor.opts.EventLoops {
		for _, ln := range lns {
			srv.accept(ln)
		}
		return nil
	}
	if len(lns) == 0 {
		return nil
	}
	loops, err := listenLoops(srv, lns, c.IOThreads)
	if err != nil {
		closeAll(lns)
		if c.UnixSocket != "" {
			_ = os.Remove(c.UnixSocket)
		}
		return err
	}
	srv.loops = loops
	return socketMode(c) // again: some loops bind the socket anew
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}

// accept serves a listener until it is closed. The caller holds life.
func (srv *Server) accept(ln net.Listener) {
	srv.listeners = append(srv.listeners, ln)
	srv.group.Go(func() {
		for {
			nc, err := ln.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				if !srv.retryAccept(err) {
					return
				}
				continue
			}
			srv.tuneConn(nc)
			if !srv.goServe(nc) {
				_ = nc.Close()
				return
			}
		}
	})
}

// retryAccept waits until accepting may work again, after an error. No error ends accepting for
// good, for most come from a shortage of something (descriptors, memory), or from one connection;
// but false: the server is ending.
func (srv *Server) retryAccept(err error) bool {
	srv.life.Lock()
	serving := srv.state == stateRunning || srv.state == stateLoading
	srv.life.Unlock()
	if !serving || isAborted(err) {
		return serving
	}
	srv.refusals.note(srv.executor.log, err)
	select {
	case <-time.After(acceptPause):
		return true
	case <-srv.stopTick:
		return false
	}
}

// isAborted reports whether a connection ended before it was accepted: the next one
// has nothing to do with that.
func isAborted(err error) bool {
	return errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.EINTR)
}

// refusalPause is how far apart the lines in the log are at least that tell of
// connections which could not be accepted.
const refusalPause = 2 * time.Second

// refusals counts the attempts to accept a connection that failed, for the log.
type refusals struct {
	mu     sync.Mutex
	logged time.Time
	failed int // since then
}

// note counts one, and logs how many there were if it is time to.
func (r *refusals) note(log *slog.Logger, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if now := time.Now(); now.Sub(r.logged) >= refusalPause {
		log.Warn("could not accept connections, which wait; trying again", "attempts", r.failed, "cause", err)
		r.logged, r.failed = now, 0
	}
}

// goServe serves a connection on goroutines of its own; false if the server is not running.
func (srv *Server) goServe(nc net.Conn) bool {
	srv.life.Lock()
	defer srv.life.Unlock()
	if srv.state != stateRunning && srv.state != stateLoading {
		return false
	}
	srv.conns[nc] = struct{}{}
	srv.group.Go(func() {
		srv.serveConn(nc)
		srv.life.Lock()
		delete(srv.conns, nc)
		srv.life.Unlock()
	})
	return true
}

// closeListeners stops accepting and ends the event loops with their connections.
func (srv *Server) closeListeners() {
	for _, ln := range srv.listeners {
		_ = ln.Close()
	}
	if loops := srv.loops; loops != nil {
		srv.loops = nil // to be stopped once
		loops.stop()
		if path := srv.Config().UnixSocket; path != "" {
			_ = os.Remove(path)
		}
	}
}

func (srv *Server) tuneConn(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		idle := srv.keepAlive()
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: idle > 0, Idle: idle, Interval: idle / 3})
	}
}

func socketMode(c *config.Config) error {
	if c.UnixSocket != "" && c.UnixSocketPerm != 0 {
		return os.Chmod(c.UnixSocket, c.UnixSocketPerm)
	}
	return nil
}

// listenTCP binds the addresses of the directive bind. As in Redis an address that this machine
// does not have is passed over if it is optional, and one of a family that it does not know in any
// case. No other error is excused.
func (srv *Server) listenTCP(words []string, port int) (lns []net.Listener, err error) {
	for _, word := range words {
		network, host, optional := bindAddress(word)
		if host == "" { // which would mean every address there is
			closeAll(lns)
			return nil, fmt.Errorf("could not listen: bind '%s' names no address", word)
		}
		ln, err := net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
		switch {
		case err == nil:
			lns = append(lns, ln)
		case optional && errors.Is(err, syscall.EADDRNOTAVAIL), isFamilyUnknown(err):
			srv.executor.log.Warn("an address of bind is not there, and is passed over", "address", host, "cause", err)
		default:
			closeAll(lns)
			return nil, listenError(err)
		}
	}
	return lns, nil
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

// listenError says in one line which address could not be bound.
func listenError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		return fmt.Errorf("could not listen on %s: %w", op.Addr, op.Err)
	}
	return fmt.Errorf("could not listen: %w", err)
}

// port returns the TCP port that is listened on; 0 if there is none.
func (srv *Server) port() int {
	if tcp, ok := srv.addr.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}
