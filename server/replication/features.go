package replication

import (
	"encoding/binary"
	"fmt"
	"slices"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/resp"
)

// Some replicas do not know all effects. A replica that does not know an effect skips it, and continues: from
// then on it has other data, without an error. So the master asks a replica before it sends the first such
// effect. A lockserver tells the master by itself that it knows them.
//
// Redis does not send its version to its master, and replies only to REPLCONF GETACK: with an ACK of the
// position in the history up to which it has run all commands. A question uses that. It is a part of the
// history:
//
//	REPLCONF GETACK *        the replica has reached the beginning of the question
//	REPLCONF GETACK *        the replica answers at all: the position is that after the first GETACK
//	MULTI                    if the replica does not know the command within, EXEC does nothing,
//	<a command that reads>   and there is no answer from within
//	REPLCONF GETACK *        three times: the periodic ACK, once a second, may be among the answers
//	EXEC
//	REPLCONF GETACK *        the answer is complete when the replica is behind EXEC
//
// A replica that has answered the GETACK before MULTI, but not those within, does not know the command.
// Programs that read the history without answering are not judged.
//
// A server between the master and the replica passes the question on like the rest of the history, and judges
// the answers of its own replicas. To have a question asked, it sends a request to its master (REPLCONF ask).
// A Redis asks nothing, so the replicas of a lockserver that follows a Redis are not asked.

// Features is a set of kinds of effects that some replicas do not know.
type Features uint8

// The features. Redis has the deadlines of hash fields from 7.4 on, Valkey from 9 on; Bloom filters need the
// module RedisBloom, or Redis 8.
const (
	FieldDeadlines Features = 1 << iota
	BloomFilters
	allFeatures = FieldDeadlines | BloomFilters
	// RecurringEntries is a feature that only early versions of lockserver do not know. Nothing asks about
	// it: see closeOlder.
	RecurringEntries Features = 1 << 7
)

// ownKind is the word by which a replica says that it is a lockserver (REPLCONF capa). Other servers ignore
// it.
const ownKind = "lockserver"

// String returns the name of a feature for the log.
func (f Features) String() string {
	switch f {
	case FieldDeadlines:
		return "deadlines of hash fields (Redis before 7.4 and Valkey before 9 have none)"
	case BloomFilters:
		return "Bloom filters (the module RedisBloom)"
	}
	return fmt.Sprintf("features %b", uint8(f))
}

// each calls use with each feature of the set.
func (f Features) each(use func(Features)) {
	for one := Features(1); one <= allFeatures; one <<= 1 {
		if f&one != 0 {
			use(one)
		}
	}
}

const (
	newDump   = 12 // the version of a payload with deadlines of fields: format, do not change
	dumpFoot  = 10 // a payload ends with its version and a checksum of 8 bytes: format, do not change
	moduleTag = 7  // the first byte of a payload of a module: format, do not change
)

// featuresOf returns the feature that an effect needs, or 0.
func featuresOf(args [][]byte) Features {
	switch name := args[0]; {
	case name[0] == 'H' && (string(name) == "HPEXPIREAT" || string(name) == "HPERSIST"):
		return FieldDeadlines
	case name[0] == 'B' && len(name) > 3 && string(name[:3]) == "BF.":
		return BloomFilters
	case name[0] == 'R' && string(name) == "RESTORE" && len(args) > 3 && len(args[3]) > dumpFoot:
		payload := args[3]
		if binary.LittleEndian.Uint16(payload[len(payload)-dumpFoot:]) >= newDump {
			return FieldDeadlines
		} else if payload[0] == moduleTag {
			return BloomFilters
		}
	}
	return 0
}

// probeOf returns the middle of a question. It changes nothing on any server.
func probeOf(f Features) []byte {
	words := [][]byte{[]byte("HPEXPIRETIME"), []byte(ownKind), []byte("FIELDS"), []byte("1"), []byte("f")}
	if f == BloomFilters {
		words = [][]byte{[]byte("BF.EXISTS"), []byte(ownKind), []byte("f")}
	}
	b := resp.AppendCommand(nil, []byte("MULTI"))
	b = resp.AppendCommand(b, words...)
	for range 3 {
		b = append(b, getAck...)
	}
	return resp.AppendCommand(b, []byte("EXEC"))
}

// featuresOfProbe returns the features that these commands ask about; 0: they are not a question.
func featuresOfProbe(unit []Command) Features {
	switch {
	case len(unit) != 1:
		return 0
	case ascii.EqualFold(unit[0].Argv[0], "HPEXPIRETIME"):
		return FieldDeadlines
	case ascii.EqualFold(unit[0].Argv[0], "BF.EXISTS"):
		return BloomFilters
	}
	return 0
}

// probe is the middle of a question, with its position in the history.
type probe struct {
	about    Features
	from, to int64
}

// question is a probe that a replica has not answered yet.
type question struct {
	probe
	before bool // it has answered the part before the probe
	within int  // number of answers from within
}

// leastWithin is the number of answers from within that prove that a replica knows the command. One of them
// may be the periodic ACK.
const leastWithin = 2

// beforeProbe returns the position in the first answer of a replica that answers.
func (p probe) beforeProbe() int64 { return p.from - int64(len(getAck)) }

// begin returns the position where the question begins.
func (p probe) begin() int64 { return p.from - 2*int64(len(getAck)) }

// unsure reports whether a replica must be asked about a feature.
func (r *Replica) unsure(f Features) bool {
	return r.knows&f == 0 && !r.silent && !r.snapshot && (r.state == receiving || r.state == online) &&
		!slices.ContainsFunc(r.asked, func(q question) bool { return q.about == f })
}

// askBefore asks the replicas that may not know the effects of a unit. The unit is sent afterwards.
func (n *Node) askBefore(unit Effects) {
	var f Features
	for i := range unit {
		f |= featuresOf(unit[i].Args)
	}
	if f == 0 {
		return
	}
	n.unasked |= f
	f.each(func(f Features) {
		if slices.ContainsFunc(n.replicas, func(r *Replica) bool { return r.unsure(f) }) {
			n.ask(f)
		}
	})
}

// askBelow asks, once a second, the replicas of our replicas, which this server does not see.
func (n *Node) askBelow() {
	if n.link == nil && slices.ContainsFunc(n.replicas, func(r *Replica) bool { return r.own }) {
		n.unasked.each(n.ask)
	}
}

// ask adds a question to the history.
func (n *Node) ask(f Features) {
	n.unasked &^= f
	n.add(getAck)
	n.add(getAck)
	from := n.Offset()
	n.add(probeOf(f))
	n.passed(probe{f, from, n.Offset()})
	n.add(getAck)
}

// passed is called when a probe was added to the history.
func (n *Node) passed(p probe) {
	n.probed = append(slices.DeleteFunc(n.probed, func(old probe) bool { return old.about == p.about }), p)
	for _, r := range n.replicas {
		if r.unsure(p.about) {
			r.asked = append(r.asked, question{probe: p})
		}
	}
}

// doubt asks a replica that continues at a position of the history: it may have skipped effects that the data
// contains. Its acknowledgements do not count until it has answered.
func (n *Node) doubt(r *Replica, at int64) {
	if r.snapshot || n.link != nil && !n.link.asks {
		return
	}
	r.doubted = n.host.Has(allFeatures &^ r.knows)
	r.doubted.each(func(f Features) {
		if n.link == nil {
			n.ask(f)
		} else if i := slices.IndexFunc(n.probed, func(p probe) bool { return p.about == f && p.begin() >= at }); i >= 0 {
			r.asked = append(r.asked, question{probe: n.probed[i]})
		} else {
			n.wantAsked(f)
		}
	})
}

// wantAsked requests that replicas be asked soon, including replicas of replicas.
func (n *Node) wantAsked(f Features) {
	switch l := n.link; {
	case l == nil:
		n.unasked |= f & allFeatures
	case l.asks:
		l.wants.Or(uint32(f & allFeatures))
		l.remind()
	}
}

// answered handles an acknowledgement of a replica.
func (n *Node) answered(r *Replica, offset int64) {
	if r.refused || len(r.asked) == 0 {
		return
	}
	left := r.asked[:0]
	for _, q := range r.asked {
		switch {
		case offset >= q.to:
			if n.judged(r, &q); r.refused {
				return
			}
			continue
		case offset >= q.from:
			q.within++
		case offset == q.beforeProbe():
			q.before = true
		}
		left = append(left, q)
	}
	if r.asked = left; len(left) == 0 {
		r.asked = nil
	}
}

// judged handles a complete answer. A replica that does not know the effects is closed, and may reconnect.
func (n *Node) judged(r *Replica, q *question) {
	if !q.before || q.within >= leastWithin {
		r.knows |= q.about
		r.doubted &^= q.about
		return
	}
	r.refused = true
	n.host.Log().Warn("closing a replica that does not know what it would be sent, and would leave it out",
		"replica", r.name(), "what", q.about.String())
	r.peer.End()
}

// Delayed entries that recur are ordinary keys, which any server keeps. But an early version of lockserver
// takes such an entry for a damaged one, and drops it when that version leads. So no such replica follows
// data with entries that recur. Redis leads nothing of that kind, and may follow.

// rulesKind is the word by which a replica says that it knows entries that recur (REPLCONF capa).
const rulesKind = "lockserver-rules"

const errOlderReplica commands.Error = "ERR this server has delayed entries that recur, which the replica's version of lockserver does not know: upgrade the replica"

// older reports whether a replica is a lockserver that does not know entries that recur.
func (r *Replica) older() bool { return r.own && !r.rules && !r.snapshot }

// storesRules reports whether a unit of the master's history stores delayed entries that recur. The unit has
// been applied.
func (u *Unit) storesRules(recurs func(db int, key []byte) bool) bool {
	return slices.ContainsFunc(u.Commands, func(c Command) bool { return commands.StoresRule(c.DB, c.Argv, recurs) })
}

// closeOlder closes the replicas that do not know entries that recur, because such an entry follows.
func closeOlder(n *Node) {
	for _, r := range n.replicas {
		if r.older() && !r.refused {
			r.refused = true
			n.host.Log().Warn("closing a replica of an older version, which does not know delayed entries that recur: upgrade it", "replica", r.name())
			r.peer.End()
		}
	}
}
