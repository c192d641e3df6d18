package replbench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockserver/tests/bench/benchkit"
)

// replica is a connection that a master takes for a replica. It drops all data, and reports its position once
// a second.
type replica struct {
	conn net.Conn
	in   *bufio.Reader
	// begun is the time of the master's reply to PSYNC, and loaded that of the last byte of its snapshot.
	begun, loaded time.Time
	bytes         int64 // of the snapshot
	at            atomic.Int64
	ended         chan struct{}
}

const (
	peerReadBytes = 256 << 10
	// markBytes is the length of the mark after a snapshot of unknown length.
	markBytes = 40
)

// follow opens a connection that asks for a full synchronization, and reads the snapshot.
func follow(s *benchkit.Server) (*replica, error) {
	conn, err := net.DialTimeout("tcp", s.Addr, benchkit.Patience)
	if err != nil {
		return nil, err
	}
	r := &replica{conn: conn, in: bufio.NewReaderSize(conn, peerReadBytes), ended: make(chan struct{})}
	if err = r.greet(); err == nil {
		err = r.snapshot()
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s, as its replica: %w", s.Name, err)
	}
	return r, nil
}

// line returns the next line without its end. It skips empty lines, which are signs of life.
func (r *replica) line() (string, error) {
	for {
		text, err := r.in.ReadString('\n')
		if text = strings.TrimSpace(text); text != "" || err != nil {
			return text, err
		}
	}
}

// greet does a replica's handshake, and asks for a full synchronization.
func (r *replica) greet() error {
	if err := r.conn.SetDeadline(time.Now().Add(benchkit.Patience)); err != nil {
		return err
	}
	for _, words := range [][]string{
		{"REPLCONF", "listening-port", "1"}, {"REPLCONF", "capa", "eof", "capa", "psync2"}, {"PSYNC", "?", "-1"},
	} {
		out := benchkit.Command(nil, len(words))
		for _, w := range words {
			out = out.Arg(w)
		}
		if _, err := r.conn.Write(out); err != nil {
			return err
		}
		if words[0] == "PSYNC" {
			r.begun = time.Now()
		}
		text, err := r.line()
		if err != nil {
			return err
		}
		if text[0] != '+' {
			return errors.New(text)
		}
		if at := strings.Fields(text); words[0] == "PSYNC" {
			if len(at) != 3 {
				return errors.New(text)
			}
			offset, err := strconv.ParseInt(at[2], 10, 64)
			if err != nil {
				return err
			}
			r.at.Store(offset)
		}
	}
	return nil
}

// snapshot reads the snapshot.
func (r *replica) snapshot() error {
	text, err := r.line()
	if err != nil {
		return err
	}
	if mark, ok := strings.CutPrefix(text, "$EOF:"); ok {
		err = r.readTo([]byte(mark))
	} else {
		if r.bytes, err = strconv.ParseInt(strings.TrimPrefix(text, "$"), 10, 64); err == nil {
			_, err = io.CopyN(io.Discard, r.in, r.bytes)
		}
	}
	r.loaded = time.Now()
	return err
}

// readTo reads up to a mark. Nothing follows it before the replica has replied.
func (r *replica) readTo(mark []byte) error {
	buf := make([]byte, peerReadBytes)
	var last []byte
	for !bytes.Equal(last, mark) {
		n, err := r.in.Read(buf)
		if err != nil {
			return err
		}
		r.bytes += int64(n)
		last = append(last, buf[max(0, n-markBytes):n]...)
		last = last[max(0, len(last)-markBytes):]
	}
	r.bytes -= markBytes
	return nil
}

// acknowledge reports the replica's position.
func (r *replica) acknowledge() error {
	_, err := r.conn.Write(benchkit.Command(nil, 3).Arg("REPLCONF").Arg("ACK").Int(r.at.Load()))
	return err
}

// stay continues to read until the replica is closed.
func (r *replica) stay() {
	_ = r.conn.SetDeadline(time.Time{})
	go func() {
		defer close(r.ended)
		buf := make([]byte, peerReadBytes)
		for {
			n, err := r.in.Read(buf)
			r.at.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	go func() {
		for r.acknowledge() == nil {
			select {
			case <-r.ended:
				return
			case <-time.After(time.Second):
			}
		}
	}()
}

func (r *replica) close() { _ = r.conn.Close() }

// online waits until the master lists the given number of replicas as online.
func online(ctx context.Context, s *benchkit.Server, replicas int) error {
	for {
		info, err := s.Do("INFO", "replication")
		if err != nil || strings.Count(info, "state=online") >= replicas {
			return err
		}
		if err := benchkit.Rest(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// master is a listener that a server takes for its master. It sends the same snapshot to each, and has no
// history.
type master struct {
	listener net.Listener
	snapshot []byte
	marked   bool // it does not announce the length of the snapshot
	asked    chan time.Time
}

// lead listens.
func lead(snapshot []byte, marked bool) (*master, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &master{listener: l, snapshot: snapshot, marked: marked, asked: make(chan time.Time, 1)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = m.serve(conn) // the follower reports whether it got the data
				_ = conn.Close()
			}()
		}
	}()
	return m, nil
}

func (m *master) port() string {
	return strconv.Itoa(m.listener.Addr().(*net.TCPAddr).Port)
}

func (m *master) close() { _ = m.listener.Close() }

// serve serves one server until it disconnects.
func (m *master) serve(conn net.Conn) error {
	in := bufio.NewReader(conn)
	for {
		words, err := readCommand(in)
		if err != nil {
			return err
		}
		answer := "+OK\r\n"
		switch {
		case strings.EqualFold(words[0], "PING"):
			answer = "+PONG\r\n"
		case strings.EqualFold(words[0], "PSYNC"):
			if err := m.send(conn); err != nil {
				return err
			}
			continue
		case strings.EqualFold(words[0], "REPLCONF") && strings.EqualFold(words[1], "ACK"):
			continue
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return err
		}
	}
}

// send sends the snapshot.
func (m *master) send(conn net.Conn) error {
	mark := strings.Repeat("e", markBytes)
	head, tail := fmt.Sprintf("$%d\r\n", len(m.snapshot)), ""
	if m.marked {
		head, tail = "$EOF:"+mark+"\r\n", mark
	}
	m.asked <- time.Now()
	if _, err := io.WriteString(conn, "+FULLRESYNC "+strings.Repeat("a", markBytes)+" 1\r\n"+head); err != nil {
		return err
	}
	if _, err := conn.Write(m.snapshot); err != nil {
		return err
	}
	_, err := io.WriteString(conn, tail)
	return err
}

// readCommand reads one short command of a replica. It skips empty lines, which are signs of life.
func readCommand(in *bufio.Reader) ([]string, error) {
	line, err := in.ReadString('\n')
	for err == nil && strings.TrimSpace(line) == "" {
		line, err = in.ReadString('\n')
	}
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "*")))
	if err != nil || n < 1 {
		return nil, fmt.Errorf("not a command: %q", line)
	}
	words := make([]string, n)
	for i := range words {
		if _, err = in.ReadString('\n'); err == nil {
			words[i], err = in.ReadString('\n')
		}
		if err != nil {
			return nil, err
		}
		words[i] = strings.TrimSpace(words[i])
	}
	return words, nil
}
