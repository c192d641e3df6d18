package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"lockserver/internal/keyslot"
	"lockserver/server/info"
)

// busOffset is the difference between the cluster bus port of a Redis node and its port. There is no such bus
// here, but clients read the number.
const busOffset = 10000

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// shardID is the name of a member's shard: of the only one of the group, or of its own.
func (g *Group) shardID(of string) string {
	now := g.seen.Load()
	switch m := now.find(of); {
	case now.Shard != "" && m != nil:
		of = m.Shard
	case !now.sharded:
		of = g.options.Name
	}
	return shardNodeID(of)
}

// shardNodeID is the ID of the shard with a name.
func shardNodeID(name string) string { return NodeID("shard of " + name) }

// describe appends a member's line of CLUSTER NODES.
func (s *sight) describe(line []byte, m *Member, p *Connection, nowMS int64) []byte {
	host, port := p.host(m), p.port(m)
	line = fmt.Appendf(line, "%s %s:%d@%d", m.ID, host, port, m.Port+busOffset)
	if !isAddress(host) {
		line = append(append(line, ','), host...)
	}
	line = append(line, ' ')
	own := m.ID == p.Self
	if own {
		line = append(line, "myself,"...)
	}
	of := s.masterOf(m)
	master := of == nil || of == m // without a master it cannot be a replica of one
	line = append(line, roleName(master, "slave")...)
	if s.failed(m) {
		line = append(line, ",fail"...)
	}
	if line = append(line, ' '); master {
		line = append(line, '-')
	} else {
		line = append(line, of.ID...)
	}
	heardMS := nowMS
	if own {
		heardMS = 0
	} else if !m.Up {
		heardMS = s.sinceMS[m.ID]
	}
	link := "connected"
	if !own && !m.Up {
		link = "disconnected"
	}
	line = fmt.Appendf(line, " 0 %d %d %s", heardMS, s.Term, link)
	for _, r := range s.slots(m) {
		line = append(append(line, ' '), r.String()...)
	}
	return line
}

// isMaster reports whether clients see a member as a master.
func (s *sight) isMaster(m *Member) bool { return s.masterOf(m) == m }

// masterOf returns the master of a member's shard; nil: no master is known.
func (s *sight) masterOf(m *Member) *Member {
	switch {
	case s.Shard != "":
		at := slices.IndexFunc(s.Members, func(other Member) bool { return other.Leads && other.Shard == m.Shard })
		if at < 0 {
			return nil
		}
		return &s.Members[at]
	case s.sharded:
		return m
	}
	return s.last
}

// infoText is the reply of CLUSTER INFO.
func (g *Group) infoText() string {
	now := g.seen.Load()
	state, assigned, ok, size := "ok", 0, 0, 0
	for i := range now.Members {
		if m := &now.Members[i]; now.isMaster(m) {
			size++
		}
	}
	switch {
	case now.Shard != "":
		assigned, ok = now.countSlots()
	case size > 0:
		assigned = keyslot.Count
	}
	switch {
	case now.leader == nil:
		state = "fail"
	case now.Shard == "":
		ok = keyslot.Count
	}
	var t strings.Builder
	fmt.Fprintf(&t, "cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n", state, assigned, ok)
	fmt.Fprintf(&t, "cluster_slots_pfail:0\r\ncluster_slots_fail:%d\r\n", assigned-ok)
	fmt.Fprintf(&t, "cluster_known_nodes:%d\r\ncluster_size:%d\r\n", len(now.Members), size)
	fmt.Fprintf(&t, "cluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n", now.Term, now.Term)
	t.WriteString("cluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\n" +
		"total_cluster_links_buffer_limit_exceeded:0\r\n")
	return t.String()
}

// countSlots counts the slots that a shard owns, and those of them that it serves, as far as that is known.
func (s *sight) countSlots() (assigned, ok int) {
	for i := range s.Members {
		m := &s.Members[i]
		for _, r := range m.Slots {
			if assigned += r.Last - r.First + 1; !s.failed(m) {
				ok += r.Last - r.First + 1
			}
		}
	}
	return assigned, ok
}

// WriteInfo writes the fields of INFO's section about clusters.
func (g *Group) WriteInfo(t *info.Text) { t.Flag("cluster_enabled", g.IsCluster()) }

// Mode returns the server's mode in INFO and HELLO.
func (g *Group) Mode() string {
	if g.IsCluster() {
		return "cluster"
	}
	return "standalone"
}
