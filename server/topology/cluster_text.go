package topology

import (
	"fmt"
	"net/netip"
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
	if !g.IsSharded() {
		of = g.options.Name
	}
	return NodeID("shard of " + of)
}

// describe appends a member's line of CLUSTER NODES.
func (s *sight) describe(line []byte, m *Member, p *Place, nowMS int64) []byte {
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
	master := s.last == nil || s.isMaster(m) // without a master it cannot be a replica of one
	line = append(line, roleName(master, "slave")...)
	if s.failed(m) {
		line = append(line, ",fail"...)
	}
	if line = append(line, ' '); master {
		line = append(line, '-')
	} else {
		line = append(line, s.last.ID...)
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

// isMaster reports whether a member has slots.
func (s *sight) isMaster(m *Member) bool { return len(s.slots(m)) > 0 }

// infoText is the reply of CLUSTER INFO.
func (g *Group) infoText() string {
	now := g.seen.Load()
	state, assigned, ok, size := "ok", 0, 0, 0
	for i := range now.Members {
		if m := &now.Members[i]; now.isMaster(m) {
			size++
		}
	}
	if size > 0 {
		assigned = keyslot.Count
	}
	if now.leader != nil {
		ok = keyslot.Count
	} else {
		state = "fail"
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

// WriteInfo writes the fields of INFO's section about clusters.
func (g *Group) WriteInfo(t *info.Text) { t.Flag("cluster_enabled", g.IsCluster()) }

// Mode returns the server's mode in INFO and HELLO.
func (g *Group) Mode() string {
	if g.IsCluster() {
		return "cluster"
	}
	return "standalone"
}
