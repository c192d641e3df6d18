package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// Hello is the answer of a server to any caller, before and after it becomes a member. The caller joins
// nothing by it.
type Hello struct {
	raft.Peer
	Group    string // the id; empty: it is not known
	Charter  string
	Empty    bool // its disk has nothing of any group
	Founders []raft.Peer
	Version  string
	Damaged  string // what is wrong with its former disk; empty: nothing is
	// Checksums are the newest of its data; Checks says that it makes any.
	Checksums []raft.Checksum
	Checks    bool
	// Report is the report of the server. Reported says that the answer has one.
	raft.Report
	Reported bool
}

// expects reports whether a server is set up to be in one group with one of these.
func (h *Hello) expects(members []raft.Peer) bool {
	for _, f := range h.Founders {
		if p, ok := raft.Find(members, f.ID); ok && f.ID != h.ID && p.Raft == f.Raft {
			return true
		}
	}
	return len(h.Founders) == 0
}

// Tell returns this member's Hello. Others reach it at self's addresses.
func (y *Identity) Tell(self raft.Peer) (Hello, error) {
	empty, err := y.isEmpty()
	self.ID, self.Incarnation = y.id, y.incarnation
	h := Hello{Peer: self, Group: y.Group(), Charter: y.charter.said(), Empty: empty, Founders: y.founders, Version: y.version, Damaged: y.damaged.is(),
		Checksums: y.checks.sent(), Checks: true}
	if report := y.report.Load(); report != nil {
		h.Report, h.Reported = (*report)(), true
	}
	return h, err
}

// The question for a Hello, do not change: these words, the group's name, the caller's id, and the called
// address, with spaces between them. The answer is a line that begins with + and goes on as the query of a
// URL. Words may be added to it. The word wantsReport behind the question asks for the server's report, too.
// An older version refuses it, and is asked again without.
const (
	question    = "lockserver-raft 2 hello"
	wantsReport = "report"
	// refusesMore begins the answer of a version that knows no such word.
	refusesMore = "-a question is "
	// longestAnswer is above the length of any answer.
	longestAnswer = 8 << 10
	// mostDamaged is how much of what is wrong with a disk an answer has: two long paths.
	mostDamaged = 1 << 10
)

// encode is the answer.
func (h *Hello) encode() string {
	v := url.Values{"id": {h.ID}, "raft": {h.Raft}, "client": {h.Client}, "incarnation": {h.Incarnation}, "group": {h.Group}, "charter": {h.Charter},
		"version": {h.Version}}
	if h.Empty {
		v.Set("empty", "yes")
	}
	if h.Checks {
		v.Set("checks", "yes")
	}
	if h.Damaged != "" {
		v.Set("damaged", h.Damaged[:min(len(h.Damaged), mostDamaged)])
	}
	for _, c := range h.Checksums {
		v.Add("check", fmt.Sprint(c.Index, " ", c.Sum))
	}
	for _, p := range h.Founders {
		v.Add("founder", p.ID+"="+string(Address(p)))
	}
	if h.Reported {
		encodeReport(v, &h.Report)
	}
	return v.Encode()
}

// decodeHello reads an answer.
func decodeHello(text string) (h Hello, err error) {
	v, err := url.ParseQuery(text)
	if err != nil || v.Get("id") == "" || v.Get("incarnation") == "" {
		return h, errNoMember
	}
	h = Hello{Peer: raft.Peer{ID: v.Get("id"), Raft: v.Get("raft"), Client: v.Get("client"), Incarnation: v.Get("incarnation")},
		Group: v.Get("group"), Charter: v.Get("charter"), Version: v.Get("version"), Empty: v.Get("empty") == "yes", Damaged: v.Get("damaged")}
	h.Checks = v.Get("checks") == "yes"
	for _, word := range v["check"] {
		index, sum, _ := strings.Cut(word, " ")
		n, err := strconv.ParseUint(index, 10, 64)
		if err == nil {
			h.Checksums = append(h.Checksums, raft.Checksum{Index: n, Sum: sum})
		}
	}
	for _, f := range v["founder"] {
		id, at, _ := strings.Cut(f, "=")
		p, _ := parseAddress(hraft.ServerAddress(at))
		p.ID = id
		h.Founders = append(h.Founders, p)
	}
	h.Report, h.Reported = decodeReport(v)
	return h, nil
}

// errNoMember is returned for something that is not the raft port of a lockserver.
var errNoMember = errors.New("what answers there is not the raft port of a lockserver: is the address another's, or the client address in its place?")

// errOlder is returned for a lockserver that knows no Hello.
var errOlder = errors.New("it is a lockserver of an older version: all members need this one")

// Hello asks the server at an address for its identity, for Options.Hello.
func (n *Network) Hello(ctx context.Context, address string) (h Hello, err error) {
	answer, err := n.question(ctx, address, " "+wantsReport)
	if err == nil && strings.HasPrefix(answer, refusesMore) {
		answer, err = n.question(ctx, address, "")
	}
	switch {
	case err != nil:
		return h, err
	case strings.HasPrefix(answer, "+"):
		return decodeHello(answer[1:])
	case strings.Contains(answer, "a member begins with '"+greeting):
		return h, errOlder
	case strings.HasPrefix(answer, "-it "):
		return h, errors.New(answer[1:])
	}
	return h, errNoMember
}

// question asks the server at an address, and returns the line that it answers.
func (n *Network) question(ctx context.Context, address, more string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	c, err := n.dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "%s %s %s %s%s\n", question, n.Group, n.ID, address, more); err != nil {
		return "", err
	}
	answer, err = bufio.NewReader(io.LimitReader(c, longestAnswer)).ReadString('\n')
	if err != nil {
		return "", errors.Join(errNoMember, err)
	}
	return strings.TrimSuffix(answer, "\n"), nil
}

// answerHello answers a question for a Hello.
func (n *Network) answerHello(c net.Conn, words []string) error {
	reports := len(words) == 4 && words[3] == wantsReport
	if len(words) != 3 && !reports {
		return fmt.Errorf("a question is '%s', a group, the caller's id, and the called address", question)
	}
	if err := n.misled(words[0], words[2]); err != nil {
		return err
	}
	h, err := n.Identity.Tell(peerOf("", n.Self))
	if h.Reported = h.Reported && reports; err == nil {
		_, err = io.WriteString(c, "+"+h.encode()+"\n")
	}
	return err
}

// ReachClient says why no client can be served at an address, for Options.ReachClient. It knows neither
// password nor certificate, so any answer but a member's raft port's will do.
func (n *Network) ReachClient(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	if _, err = io.WriteString(c, "PING\r\n"); err != nil {
		return err
	}
	answer, err := readLine(c)
	if strings.Contains(answer, "a member begins with '"+greeting) {
		return errors.New("what answers there is the raft port of a lockserver: are the two addresses swapped?")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || err == nil { // a port for TLS closes
		return nil
	}
	return fmt.Errorf("what answers there is not the port of a lockserver for clients: %w", err)
}
