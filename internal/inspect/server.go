package inspect

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// Target describes the server to inspect and the user to log in as.
type Target struct {
	Addr     string // host:port, or the path of a unix socket
	User     string // empty: the default user
	Password string
	DB       int
	TLS      *tls.Config // nil: not encrypted
	// Patience limits the time for the connection, and for each reply. 0 means five seconds.
	Patience time.Duration
}

// Server is a connection to a server, or to all shards of a cluster.
type Server struct {
	conn *call.Conn
	addr string
	part int // the only shard that is asked, counted from 1; 0: all
	// options are the caller's options; after a redirection addr is the address of the leader.
	options Target
}

// Connect connects and logs in. It fails if no server answers, if the user is refused, or if the server has
// no locks. If the server is a member that does not lead, Connect follows its redirection to the leader. If
// the server is a shard, Connect connects to the other shards as well.
func Connect(ctx context.Context, o Target) (*Server, error) {
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	s, err := connectFrom(ctx, o, mostHops)
	if err != nil {
		return nil, err
	}
	s.options = o
	return s, nil
}

// reconnect connects to the server again, with the options of Connect.
func (s *Server) reconnect(ctx context.Context) error {
	s.Close()
	again, err := Connect(ctx, s.options)
	if err == nil {
		s.conn, s.addr = again.conn, again.addr
		err = s.only(s.part)
	}
	return err
}

// process identifies the server's process. It is empty if the user may not read it.
func (s *Server) process() string {
	v, err := s.conn.Do("INFO", "server")
	if err != nil {
		return ""
	}
	id, _ := Field(v.Str, "run_id")
	return id
}

// now returns the time of the server's data. Times in its replies are by that clock, not by this machine's
// clock. If the user may not ask for it, now returns this machine's time.
func (s *Server) now() time.Time {
	v, _ := s.conn.Do("INFO", "server")
	us, _ := Field(v.Str, "server_time_usec")
	return serverTime(us)
}

// serverTime parses the field server_time_usec of INFO.
func serverTime(us string) time.Time {
	if n, err := strconv.ParseInt(us, 10, 64); err == nil && n > 0 {
		return time.UnixMicro(n)
	}
	return time.Now()
}

// mostHops limits the redirections in a row.
const mostHops = 3

func connectFrom(ctx context.Context, o Target, hops int) (*Server, error) {
	nc, err := Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Server{conn: call.New(nc, o.Patience), addr: o.Addr}
	if err := s.greet(o); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.joinShards(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	leader := s.sentOn()
	if leader == "" {
		return s, nil
	}
	s.Close()
	if hops == 0 {
		return nil, fmt.Errorf("%s sends on to %s: there are too many of them in a row", o.Addr, leader)
	}
	o.Addr = leader
	return connectFrom(ctx, o, hops-1)
}

// sentOn returns the address of the server that has the data, if this server is a member that does not lead.
func (s *Server) sentOn() string {
	_, err := s.conn.Do("EXISTS", "lockserver-inspect")
	if err == nil {
		return ""
	}
	words := strings.Fields(err.Error())
	if words[0] == "READONLY" { // no replica answers a read with a redirection after READONLY
		return s.leader()
	}
	if len(words) != 3 || words[0] != "MOVED" {
		return "" // the actual command will report the error
	}
	if port, here := strings.CutPrefix(words[2], ":"); here { // the same host
		host, _, _ := net.SplitHostPort(s.addr)
		return net.JoinHostPort(host, port)
	}
	return words[2]
}

// leader returns the leader's address from a member of a group with Sentinel clients. It is empty if the
// member does not know the leader.
func (s *Server) leader() string {
	info, err := s.conn.Do("RAFT", "INFO")
	if err != nil {
		return ""
	}
	addr, _ := Field(info.Str, "raft_leader_address")
	return addr
}

// Field is a field of a reply of INFO.
func Field(info, name string) (value string, ok bool) {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value, true
		}
	}
	return "", false
}

// Dial opens a connection for the options, without logging in.
func Dial(ctx context.Context, o Target) (net.Conn, error) {
	network := "tcp"
	if strings.Contains(o.Addr, "/") {
		network = "unix"
	} else if _, _, err := net.SplitHostPort(o.Addr); err != nil {
		return nil, fmt.Errorf("the address is host:port, or the path of a unix socket: %w", err)
	}
	if o.TLS != nil {
		return (&tls.Dialer{Config: o.TLS}).DialContext(ctx, network, o.Addr)
	}
	return new(net.Dialer).DialContext(ctx, network, o.Addr)
}

// greet logs in, and checks that the server has locks.
func (s *Server) greet(o Target) error {
	hello := []string{"HELLO", "3"}
	if o.User != "" || o.Password != "" {
		hello = append(hello, "AUTH", cmp.Or(o.User, "default"), o.Password)
	}
	for _, words := range [][]string{append(hello, "SETNAME", "lockserver-inspect"), {"SELECT", strconv.Itoa(o.DB)}} {
		if _, err := s.conn.Do(words...); err != nil {
			return err
		}
	}
	known, err := s.conn.Do("COMMAND", "INFO", "lock.info")
	if err == nil && (len(known.Elems) == 0 || known.Elems[0].IsNull()) {
		err = fmt.Errorf("the server at %s has no LOCK: it is no lockserver", o.Addr)
	}
	return err
}

// Close ends the connection.
func (s *Server) Close() { s.conn.Close() }

// Client is a connection to the server.
type Client struct {
	ID      int64  `json:"id"`
	Address string `json:"address"`
	Name    string `json:"name,omitempty"`
}

// String is the name of the client if it has one, otherwise its address.
func (c *Client) String() string {
	switch {
	case c == nil:
		return ""
	case c.Name != "":
		return c.Name
	}
	return c.Address
}

// Waiter is a client in the queue of a lock.
type Waiter struct {
	Owner    string     `json:"owner"`
	Client   *Client    `json:"client"`
	Since    time.Time  `json:"waiting_since"`
	Deadline *time.Time `json:"deadline"`         // nil: no deadline
	Notify   bool       `json:"notify,omitempty"` // the wait blocks no connection
	Trace    string     `json:"trace,omitempty"`  // traceparent of its call
}

// Permits holds the permits of a semaphore.
type Permits struct {
	Limit     int64 `json:"limit"`
	Available int64 `json:"available"`
}

// Lock is a lock or a semaphore that is held, or a latch that clients wait for.
type Lock struct {
	Key      string     `json:"key"`
	Shard    int        `json:"shard,omitempty"` // 0: the server has no shards
	Owner    string     `json:"owner"`           // for a shared lock: the first owners, as a text
	Holds    int64      `json:"holds"`
	Token    int64      `json:"token"`
	Sharers  []string   `json:"shared_by,omitempty"` // the owners that hold it together
	Permits  *Permits   `json:"permits,omitempty"`   // nil: the key is not a semaphore
	Latch    bool       `json:"latch,omitempty"`     // the key is a latch, without an owner; Holds is its count
	TTLMS    int64      `json:"ttl_ms"`              // -1: no end
	Watchdog bool       `json:"watchdog"`
	Client   *Client    `json:"client"`
	Since    *time.Time `json:"held_since"`
	Waiting  int64      `json:"waiting"` // number of waiters; Waiters may hold only the first of them
	Waiters  []Waiter   `json:"waiters"`
	// WaitsFor lists the keys of the locks that the owner waits for.
	WaitsFor []string `json:"owner_waits_for,omitempty"`
	// ConfirmBy is the time by which the owner must confirm the grant; nil if it need not confirm.
	ConfirmBy *time.Time `json:"confirm_by,omitempty"`
	// Trace is the traceparent of the owner's call; empty if the call had no trace, or if there are several
	// owners.
	Trace string `json:"trace,omitempty"`
}

// Lock returns a lock with all its waiters; nil if it is free.
func (s *Server) Lock(key string) (*Lock, error) {
	v, err := s.conn.Do("LOCK.INFO", key)
	if err != nil {
		return nil, err
	}
	return s.lockOf(key, v), nil
}

// lockOf parses a reply of LOCK.INFO. It returns nil if the lock is free, or the reply is an error.
func (s *Server) lockOf(key string, v resp.Value) *Lock {
	if v.Kind != resp.Map {
		return nil
	}
	f := call.FieldsOf(v)
	l := &Lock{Key: key, Shard: s.conn.ShardOf(key), Owner: f.Text("owner"), Holds: f.Int("holds"), Token: f.Int("token"), TTLMS: f.Int("ttl"),
		Watchdog: f.Flag("watchdog"), Client: clientOf(f), Since: f.Moment("held-since"), ConfirmBy: f.Moment("confirm-by"), Waiting: f.Int("waiting"), Waiters: []Waiter{}, Trace: f.Text("trace")}
	if l.readHolders(f); f.Text("mode") == latchMode {
		l.Latch, l.Holds = true, f.Int("count")
	}
	for _, w := range f.List("waiters") {
		l.Waiters = append(l.Waiters, waiterOf(call.FieldsOf(w)))
	}
	l.Waiting = max(l.Waiting, int64(len(l.Waiters))) // the reply with all waiters does not contain their number
	return l
}

// latchMode is the mode of a latch in the replies of the server.
const latchMode = "latch"

// readHolders reads the fields of a lock that several owners can hold.
func (l *Lock) readHolders(f call.Fields) {
	if limit := f.Int("limit"); limit > 0 {
		l.Permits = &Permits{limit, f.Int("available")}
	}
	for _, h := range f.List("holders") {
		of := call.FieldsOf(h)
		l.Sharers = append(l.Sharers, of.Text("owner"))
		l.Holds += of.Int("holds")
	}
	if len(l.Sharers) > 0 {
		l.Owner = named(l.Sharers, int(f.Int("holding")))
	}
}

// named formats a list of owners: the first names, and the number of the others. all is the number of owners,
// including those that are not in the list.
func named(owners []string, all int) string {
	const most = 3
	named := owners[:min(len(owners), most)]
	text := strings.Join(named, ", ")
	if rest := max(all, len(owners)) - len(named); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// owners returns the holders of the lock.
func (l *Lock) owners() []string {
	switch {
	case l.Latch:
		return nil
	case len(l.Sharers) > 0:
		return l.Sharers
	}
	return []string{l.Owner}
}

// clientOf returns the client in a map of a reply, or nil if it has disconnected or is not known.
func clientOf(f call.Fields) *Client {
	if f["client"].Kind != resp.Map {
		return nil
	}
	of := call.FieldsOf(f["client"])
	return &Client{ID: of.Int("id"), Address: of.Text("address"), Name: of.Text("name")}
}

func waiterOf(f call.Fields) Waiter {
	w := Waiter{Owner: f.Text("owner"), Client: clientOf(f), Deadline: f.Moment("deadline"), Notify: f.Flag("notify"), Trace: f.Text("trace")}
	if since := f.Moment("waiting-since"); since != nil {
		w.Since = *since
	}
	return w
}

// wait is a waiter with the keys of the locks that it waits for.
type wait struct {
	Waiter
	keys []string
}

// waits returns the waits for locks from LOCK.WAITERS with the given options.
func (s *Server) waits(options ...string) (list []wait, err error) {
	reply, err := s.conn.Do(append([]string{"LOCK.WAITERS"}, options...)...)
	for _, v := range reply.Elems {
		f := call.FieldsOf(v)
		w := wait{Waiter: waiterOf(f)}
		for _, lock := range f.List("locks") {
			if len(lock.Elems) > 0 {
				w.keys = append(w.keys, lock.Elems[0].Str)
			}
		}
		list = append(list, w)
	}
	return list, err
}

// Filter selects locks; empty fields match all locks.
type Filter struct {
	Match string // a pattern of keys
	Owner string
}

// piece is the number of locks in one request, small enough not to delay other clients.
const piece = 1000

// EachLock calls f with every held lock, in no order, without its client and waiters, until ctx ends. A lock
// that is taken or released meanwhile may be missing.
func (s *Server) EachLock(ctx context.Context, by Filter, f func(Lock) error) error {
	for next := "0"; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		after, found, err := s.lockPiece(by, next, piece)
		if err != nil {
			return err
		}
		for _, l := range found {
			if err := f(l); err != nil {
				return err
			}
		}
		if after == "0" {
			return nil
		}
		next = after
	}
}

// lockPiece returns the locks among the keys that the server looks at from a cursor on, and the next cursor.
func (s *Server) lockPiece(by Filter, cursor string, looked int) (next string, list []Lock, err error) {
	words := []string{"LOCK.LIST", "CURSOR", cursor, "COUNT", strconv.Itoa(looked)}
	if by.Match != "" {
		words = append(words, "MATCH", by.Match)
	}
	if by.Owner != "" {
		words = append(words, "OWNER", by.Owner)
	}
	v, err := s.conn.Do(words...)
	if err != nil {
		return "", nil, err
	}
	next, found := call.Piece(v)
	for _, v := range found {
		l := call.FieldsOf(v)
		list = append(list, Lock{Key: l.Text("key"), Shard: s.conn.ShardOf(l.Text("key")), Owner: l.Text("owner"), Holds: l.Int("holds"), Token: l.Int("token"), TTLMS: l.Int("ttl"), Latch: l.Text("mode") == latchMode})
	}
	return next, list, nil
}
