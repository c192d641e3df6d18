package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockserver/internal/config"
)

// acceptPause is how long new connections wait after there were no descriptors left.
const acceptPause = 100 * time.Millisecond

// listen binds every configured address. The caller holds life.
func (srv *Server) listen() error {
	c := srv.config
	var tcp []string
	if c.ListensTCP() {
		tcp = c.Bind
	}
	if ln := srv.opts.Listener; ln != nil {
		srv.addr = ln.Addr()
		srv.accept(ln)
	}
	if c.UnixSocket != "" {
		if err := removeStaleSocket(c.UnixSocket); err != nil {
			return err
		}
	}
	var lns []net.Listener
	for _, bind := range tcp {
		host, optional := bindHost(bind)
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(c.Port)))
		if err == nil {
			lns = append(lns, ln)
		} else if optional {
			srv.log.Warn("could not bind an optional address", "address", host, "cause", err)
		} else {
			closeAll(lns)
			return listenError(err)
		}
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
	if !srv.opts.EventLoops {
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
				srv.log.Warn("could not accept a connection", "cause", err)
				if !isTemporary(err) {
					return
				}
				select {
				case <-time.After(acceptPause):
					continue
				case <-srv.stopTick:
					return
				}
			}
			srv.tuneConn(nc)
			if !srv.goServe(nc) {
				_ = nc.Close()
				return
			}
		}
	})
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

// bindHost turns a word of the bind directive into a host; optional says that it may be unavailable.
func bindHost(word string) (host string, optional bool) {
	word, optional = strings.CutPrefix(word, "-")
	switch word {
	case "*":
		return "0.0.0.0", optional
	case "::*":
		return "::", optional
	}
	return word, optional
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

func isTemporary(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout() || isResourceShortage(err)
}

// port returns the TCP port that is listened on; 0 if there is none.
func (srv *Server) port() int {
	if tcp, ok := srv.addr.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// isResourceShortage reports whether accepting may work again later.
func isResourceShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}
