package replication

import (
	"fmt"

	"lockserver/server/info"
)

// WriteInfo writes the fields of INFO's section about replication.
func (n *Node) WriteInfo(t *info.Text) {
	c := n.config()
	if n.link == nil {
		t.Line("role", "master")
	} else {
		n.link.writeInfo(t)
		t.Line("slave_priority", c.Priority)
		t.Flag("slave_read_only", c.ReadOnly)
		t.Flag("replica_announced", c.Announced)
	}
	t.Line("connected_slaves", len(n.replicas))
	if c.MinToWrite > 0 && c.MinMaxLagMS > 0 {
		t.Line("min_slaves_good_slaves", n.good)
	}
	for i, r := range n.replicas {
		lag := int64(0)
		if r.state == online {
			lag = (n.host.NowMS() - r.heardMS) / 1000
		}
		t.Line(fmt.Sprintf("slave%d", i), fmt.Sprintf("ip=%s,port=%d,state=%s,offset=%d,lag=%d", r.ip(), r.port, r.state, r.acked, lag))
	}
	begin, end := n.stream.bounds()
	first := begin + 1
	if !n.recording {
		first = 0
	}
	t.Line("master_failover_state", n.failover.state)
	t.Line("master_replid", n.id)
	t.Line("master_replid2", n.id2)
	t.Line("master_repl_offset", end)
	t.Line("second_repl_offset", n.secondOffset)
	t.Flag("repl_backlog_active", n.recording)
	t.Line("repl_backlog_size", c.BacklogBytes)
	t.Line("repl_backlog_first_byte_offset", first)
	t.Line("repl_backlog_histlen", end-begin)
}

// ip returns the address of a replica.
func (r *Replica) ip() string {
	if r.address != "" {
		return r.address
	}
	return r.peer.RemoteIP()
}

// writeInfo writes the fields about the link to the master.
func (l *link) writeInfo(t *info.Text) {
	p := &l.progress
	up, silent, read, applied := "down", int64(-1), int64(1), int64(1)
	if l.known {
		applied = l.node.Offset()
		read = applied
	}
	if l.state == connected {
		up, silent, read = "up", l.silentS(), p.read.Load()
	}
	t.Line("role", "slave")
	t.Line("master_host", l.host)
	t.Line("master_port", l.port)
	t.Line("master_link_status", up)
	t.Line("master_last_io_seconds_ago", silent)
	t.Flag("master_sync_in_progress", l.state == transferring)
	t.Line("slave_read_repl_offset", read)
	t.Line("slave_repl_offset", applied)
	if l.state == transferring {
		got, percent := p.got.Load(), 0.0
		if l.total > 0 {
			percent = float64(got) / float64(l.total) * 100
		}
		t.Line("master_sync_total_bytes", l.total)
		t.Line("master_sync_read_bytes", got)
		t.Line("master_sync_left_bytes", l.total-got)
		t.Line("master_sync_perc", fmt.Sprintf("%.2f", percent))
		t.Line("master_sync_last_io_seconds_ago", l.silentS())
	}
	if l.state != connected {
		since := int64(-1)
		if l.downSince != 0 {
			since = (l.node.host.NowMS() - l.downSince) / 1000
		}
		t.Line("master_link_down_since_seconds", since)
	}
}

// WriteStats writes the fields of INFO's section Stats.
func (n *Node) WriteStats(t *info.Text) {
	t.Line("sync_full", n.counts.full)
	t.Line("sync_partial_ok", n.counts.partialOK)
	t.Line("sync_partial_err", n.counts.partialErr)
}

// ResetStats sets these counts to zero.
func (n *Node) ResetStats() { n.counts = counts{} }
