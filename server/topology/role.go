package topology

import (
	"fmt"
	"strings"

	"lockserver/internal/resp"
	"lockserver/server/info"
)

// The replies of ROLE, HELLO and INFO's section about replication for a member: as if the leader were a
// master of Redis, and the others its replicas.

// Role returns the role of a connection's member, in the form of HELLO.
func (g *Group) Role(p *Connection) string { return roleName(g.Leads(p), "replica") }

// WriteRole writes the reply of ROLE.
func (g *Group) WriteRole(p *Connection, out *resp.Writer) {
	now := g.seen.Load()
	self := now.find(p.Self)
	if g.Leads(p) {
		out.Array(3)
		out.BulkString("master")
		out.Int(self.Offset)
		replicas := now.replicas(true)
		out.Array(len(replicas))
		for _, m := range replicas {
			out.Array(3)
			out.BulkString(m.Host)
			out.BulkInt(int64(m.Port))
			out.BulkInt(m.Offset)
		}
		return
	}
	host, port := now.master()
	out.Array(5)
	out.BulkString("slave")
	out.BulkString(host)
	out.Int(int64(port))
	if now.leader == nil {
		out.BulkString("connect")
		out.Int(-1)
		return
	}
	out.BulkString("connected")
	out.Int(offsetOf(self))
}

// master returns the address of the leader, or of the last leader.
func (s *sight) master() (host string, port int) {
	if s.last == nil {
		return "", 0
	}
	return s.last.Host, s.last.Port
}

// offsetOf returns the offset of a member; 0 for a removed member.
func offsetOf(m *Member) int64 {
	if m == nil {
		return 0
	}
	return m.Offset
}

// replicas returns the replicas of this server's shard; with up only those that are up.
func (s *sight) replicas(up bool) (list []*Member) {
	for i := range s.Members {
		if m := &s.Members[i]; !s.isMaster(m) && m.Shard == s.Shard && (m.Up || !up) {
			list = append(list, m)
		}
	}
	return list
}

// WriteReplication writes the fields of INFO's section about replication.
func (g *Group) WriteReplication(p *Connection, t *info.Text) {
	now := g.seen.Load()
	offset := offsetOf(now.find(p.Self))
	var replicas []*Member
	if g.Leads(p) {
		t.Line("role", "master")
		replicas = now.replicas(true)
	} else {
		host, port := now.master()
		status, silent := "up", 0
		if now.leader == nil {
			status, silent = "down", -1
		}
		t.Line("role", "slave")
		t.Line("master_host", host)
		t.Line("master_port", port)
		t.Line("master_link_status", status)
		t.Line("master_last_io_seconds_ago", silent)
		t.Line("master_sync_in_progress", 0)
		t.Line("slave_read_repl_offset", offset)
		t.Line("slave_repl_offset", offset)
		if now.leader == nil {
			t.Line("master_link_down_since_seconds", -1)
		}
		t.Line("slave_priority", 100)
		t.Line("slave_read_only", 1)
		t.Line("replica_announced", 1)
	}
	t.Line("connected_slaves", len(replicas))
	for i, m := range replicas {
		t.Line(fmt.Sprintf("slave%d", i), fmt.Sprintf("ip=%s,port=%d,state=online,offset=%d,lag=0", m.Host, m.Port, m.Offset))
	}
	t.Line("master_failover_state", "no-failover")
	t.Line("master_replid", g.shardID(p.Self))
	t.Line("master_replid2", strings.Repeat("0", 40))
	t.Line("master_repl_offset", offset)
	t.Line("second_repl_offset", -1)
	t.Zeros("repl_backlog_active", "repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen")
}
