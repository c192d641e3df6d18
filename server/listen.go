package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// listen binds every configured address. The caller holds life.
func (srv *Server) listen() error {
	c := srv.config
	var tcp []string
	if c.ListensTCP() {
		tcp = c.Bind
	}
	if srv.opts.Listener != nil {
		srv.accept(srv.opts.Listener)
	}
	if c.UnixSocket != "" {
		if err := removeStaleSocket(c.UnixSocket); err != nil {
			return err
		}
	}
	if srv.opts.EventLoops {
		return srv.listenOnLoops(tcp, c.UnixSocket)
	}
	for _, bind := range tcp {
		host, optional := bindHost(bind)
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(c.Port)))
		if err != nil {
			if optional {
				srv.log.Warn("could not bind an optional address", "address", host, "cause", err)
				continue
			}
			return listenError(err)
		}
		srv.accept(ln)
	}
	if c.UnixSocket != "" {
		ln, err := net.Listen("unix", c.UnixSocket)
		if err != nil {
			return listenError(err)
		}
		srv.accept(ln)
	}
	return srv.socketMode()
}

// listenOnLoops binds the addresses on event loops.
func (srv *Server) listenOnLoops(tcp []string, unixSocket string) error {
	var addrs []string
	for _, bind := range tcp {
		host, optional := bindHost(bind)
		hostPort := net.JoinHostPort(host, strconv.Itoa(srv.config.Port))
		// The event loops report a busy port late and tersely: a listener of our own that is closed again does better.
		probe, err := net.Listen("tcp", hostPort)
		if err != nil {
			if optional {
				srv.log.Warn("could not bind an optional address", "address", host, "cause", err)
				continue
			}
			return listenError(err)
		}
		_ = probe.Close()
		addrs = append(addrs, "tcp://"+hostPort)
	}
	if unixSocket != "" {
		addrs = append(addrs, "unix://"+unixSocket)
	}
	if len(addrs) == 0 {
		return nil
	}
	ls, err := listenLoops(srv, addrs, srv.config.IOThreads)
	if err != nil {
		return err
	}
	srv.loops = ls
	if srv.addr == nil {
		if srv.addr, err = ls.addr(); err != nil {
			return err
		}
	}
	return srv.socketMode()
}

// accept serves a listener until it is closed. The caller holds life.
func (srv *Server) accept(ln net.Listener) {
	srv.listeners = append(srv.listeners, ln)
	if srv.addr == nil {
		srv.addr = ln.Addr()
	}
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

// goServe serves a connection on goroutines of its own; false if the server has ended.
func (srv *Server) goServe(nc net.Conn) bool {
	srv.life.Lock()
	defer srv.life.Unlock()
	if srv.state == stateClosed {
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
	if srv.loops != nil {
		srv.loops.stop()
	}
	if srv.config.UnixSocket != "" && srv.loops != nil {
		_ = os.Remove(srv.config.UnixSocket)
	}
}

func (srv *Server) tuneConn(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		idle := srv.settings.keepAlive
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: idle > 0, Idle: idle, Interval: idle / 3})
	}
}

func (srv *Server) socketMode() error {
	if c := srv.config; c.UnixSocket != "" && c.UnixSocketPerm != 0 {
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
