package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"lockserver/internal/call"
)

// slots are the slots from first to last of the shard at an address.
type slots struct {
	first, last int64
	addr, id    string
}

// slotsOf asks which shard has which slots. The list is empty for a server in no cluster, and for a user who
// may not know.
func (s *Server) slotsOf() (list []slots) {
	v, err := s.conn.Do("CLUSTER", "SLOTS")
	if err != nil {
		return nil
	}
	own, _, _ := net.SplitHostPort(s.addr)
	for _, of := range v.Elems {
		if len(of.Elems) < 3 || len(of.Elems[2].Elems) < 3 {
			return nil
		}
		at := of.Elems[2].Elems // of the master
		list = append(list, slots{of.Elems[0].Int, of.Elems[1].Int, net.JoinHostPort(cmp.Or(at[0].Str, own), strconv.FormatInt(at[1].Int, 10)), at[2].Str})
	}
	slices.SortFunc(list, func(a, b slots) int { return cmp.Compare(a.first, b.first) })
	return list
}

// joinShards connects to all shards, if the server is one of several.
func (s *Server) joinShards(ctx context.Context, o Target) error {
	list := s.slotsOf()
	var addrs []string // of the shards, in the order of their first slots
	for _, r := range list {
		if !slices.Contains(addrs, r.addr) {
			addrs = append(addrs, r.addr)
		}
	}
	if len(addrs) < 2 {
		return nil
	}
	var parts []*call.Conn
	for i, addr := range addrs {
		o.Addr = addr
		nc, err := Dial(ctx, o)
		if err == nil {
			parts = append(parts, call.New(nc, o.Patience))
			err = (&Server{conn: parts[i], addr: addr}).greet(o)
		}
		if err != nil {
			for _, part := range parts {
				part.Close()
			}
			return fmt.Errorf("shard %d at %s: %w", i+1, addr, err)
		}
	}
	s.conn.Close()
	s.conn = call.Join(parts, func(slot int) int {
		i := slices.IndexFunc(list, func(r slots) bool { return int64(slot) <= r.last })
		return max(0, slices.Index(addrs, list[max(0, i)].addr))
	})
	return nil
}

// ShardsOf returns the addresses of all shards of the process that a connection to addr leads to: those at
// which this machine reaches them, whatever they announce. It returns addr alone for another server, for a
// unix socket, and for a user who may not know.
func ShardsOf(c *call.Conn, addr string) []string {
	host, own, noPort := net.SplitHostPort(addr)
	port, notNumber := strconv.Atoi(own)
	said, denied := c.Do("CONFIG", "GET", "shards", "cluster-announce-*port")
	id, unknown := c.Do("CLUSTER", "MYID")
	if errors.Join(noPort, notNumber, denied, unknown) != nil {
		return []string{addr}
	}
	values := make(map[string]string)
	for i := 0; i+1 < len(said.Elems); i += 2 {
		values[said.Elems[i].Str] = said.Elems[i+1].Str
	}
	if n := values["shards"]; n == "" || n == "1" {
		return []string{addr}
	}
	list := (&Server{conn: c, addr: addr}).slotsOf()
	at := slices.IndexFunc(list, func(of slots) bool { return of.id == id.Str })
	if at < 0 {
		return []string{addr}
	}
	announced := cmp.Or(values["cluster-announce-port"], "0") != "0" || cmp.Or(values["cluster-announce-tls-port"], "0") != "0"
	addrs := make([]string, len(list))
	for i, of := range list {
		_, shown, _ := net.SplitHostPort(of.addr)
		if announced { // the ports of a process are in a row
			shown = strconv.Itoa(port + i - at)
		}
		addrs[i] = net.JoinHostPort(host, shown)
	}
	return addrs
}

// shard returns the connection to one shard alone, counted from 1; 0 means all.
func (s *Server) shard(n int) *Server {
	if n == 0 {
		return s
	}
	return &Server{conn: s.conn.Parts()[n-1], addr: s.addr, options: s.options, part: n}
}

// only leaves the connection to one shard; 0 leaves all.
func (s *Server) only(n int) error {
	parts := s.conn.Parts()
	if n > len(parts) {
		s.Close()
		return fmt.Errorf("the cluster has %d shards now", len(parts))
	}
	for i, part := range parts {
		if n > 0 && i != n-1 {
			part.Close()
		}
	}
	s.conn = s.shard(n).conn
	return nil
}

// shardText formats the number of a shard, for a column that only a cluster has.
func shardText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
