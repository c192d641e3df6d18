package rdb

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"lockserver/store/listpack"
)

// streamIDBytes is the length of a binary stream ID: two big endian 64-bit numbers. Format, do not change.
const streamIDBytes = 16

// ID is the ID of a stream entry.
type ID struct{ MS, Seq uint64 }

// Compare orders IDs: -1, 0 or 1.
func (id ID) Compare(other ID) int {
	if c := cmp.Compare(id.MS, other.MS); c != 0 {
		return c
	}
	return cmp.Compare(id.Seq, other.Seq)
}

// StreamNode is a run of entries: a listpack of entries with IDs relative to Master. The listpack is valid
// and not empty. The format of the entries is not checked here, but by the code that knows their layout.
type StreamNode struct {
	Master   ID
	Listpack listpack.List
	Owned    bool // the listpack has memory of its own
}

// StreamInfo holds the numbers of a stream besides its entries.
type StreamInfo struct {
	Length uint64 // entries, without deleted entries
	LastID ID     // the largest ID ever given
	// Legacy says that the file has none of the three fields below (before Redis 7). The caller finds them
	// from the entries: EntriesAdded is then Length, and the others are zero.
	Legacy       bool
	FirstID      ID // of the first entry
	MaxDeletedID ID
	EntriesAdded uint64 // number of all entries ever added
	Groups       uint64 // the number of groups that the file claims
}

// Wrong describes the numbers of the stream that contradict its nodes, which hold that many entries up to the
// ID last. It is empty if there are none.
func (s *StreamInfo) Wrong(entries uint64, last ID) string {
	switch {
	case s.Length != entries:
		return fmt.Sprintf("the stream claims %d entries and holds %d: it has %d", s.Length, entries, entries)
	case s.LastID.Compare(last) < 0:
		return fmt.Sprintf("the stream claims the last id %d-%d and holds %d-%d: the last id is that", s.LastID.MS, s.LastID.Seq, last.MS, last.Seq)
	}
	return ""
}

// Group is a consumer group. It has memory of its own.
type Group struct {
	Name   []byte
	LastID ID // the last delivered ID
	// EntriesRead is Redis' logical read counter; -1 if it is not known (and before Redis 7).
	EntriesRead int64
	Pending     []Pending // by ID
	Consumers   []Consumer
}

// Consumer is a member of a group.
type Consumer struct {
	Name []byte
	// SeenMS is the time of its last attempt to read, ActiveMS of its last successful read (-1: never), in
	// Unix milliseconds. Files from before Redis 7.2 have only the first, which is used for both.
	SeenMS, ActiveMS int64
}

// Pending is an entry that was delivered and not acknowledged.
type Pending struct {
	ID          ID
	DeliveredMS int64  // Unix milliseconds
	Deliveries  uint64 // number of deliveries
	Consumer    int    // index into the group's Consumers
}

// streamState is the progress of reading a stream.
type streamState struct {
	nodes    int                 // number of nodes read
	last     ID                  // the master of the last node
	infoRead bool                // the groups come next
	groups   uint64              // groups that are not read yet
	names    map[string]struct{} // names of the groups read
	// producers is the AuxProducers made from the part after the groups; nil if there is none, or if it is
	// not read yet.
	producers []byte
	ended     bool // the part after the groups was read
}

// NextNode returns the next run of entries of a Stream. Master IDs ascend.
func (o *Object) NextNode() (StreamNode, bool) {
	d := o.d
	if o.Kind != Stream || o.stream.infoRead || o.left == 0 || d.err != nil {
		return StreamNode{}, false
	}
	o.left--
	at := d.src.offset()
	key, err := d.string()
	if err != nil {
		return StreamNode{}, false
	}
	if len(key) != streamIDBytes {
		d.corrupt(at, "stream: a node's ID has %d bytes", len(key))
		return StreamNode{}, false
	}
	master := parseID(key)
	if o.stream.nodes > 0 && master.Compare(o.stream.last) <= 0 {
		d.corrupt(at, "stream: node %d-%d does not ascend", master.MS, master.Seq)
		return StreamNode{}, false
	}
	o.stream.nodes++
	o.stream.last = master
	w, err := d.blob(listpackBlob)
	if err != nil {
		return StreamNode{}, false
	}
	if w.done() {
		d.corrupt(at, "stream: node %d-%d is empty", master.MS, master.Seq)
		return StreamNode{}, false
	}
	return StreamNode{Master: master, Listpack: w.b, Owned: d.owned}, true
}

// StreamInfo reads the part after the nodes. It skips unread nodes. It can be called once.
func (o *Object) StreamInfo() (StreamInfo, error) {
	for ok := true; ok; {
		_, ok = o.NextNode()
	}
	d := o.d
	if d.err != nil {
		return StreamInfo{}, d.err
	}
	if o.Kind != Stream || o.stream.infoRead {
		return StreamInfo{}, nil
	}
	o.stream.infoRead = true
	at := d.src.offset()
	var s StreamInfo
	fields := []*uint64{&s.Length, &s.LastID.MS, &s.LastID.Seq}
	if d.typ == typeStream {
		s.Legacy = true
	} else {
		fields = append(fields, &s.FirstID.MS, &s.FirstID.Seq, &s.MaxDeletedID.MS, &s.MaxDeletedID.Seq, &s.EntriesAdded)
	}
	fields = append(fields, &s.Groups)
	for _, f := range fields {
		var err error
		if *f, err = d.length(); err != nil {
			return StreamInfo{}, err
		}
	}
	if s.Legacy {
		s.EntriesAdded = s.Length
	}
	if s.Length > 0 && o.stream.nodes == 0 {
		return StreamInfo{}, d.corrupt(at, "stream: %d entries without a node", s.Length)
	}
	o.stream.groups = s.Groups
	return s, nil
}

// NextGroup returns the next consumer group of a Stream. It skips unread nodes and the StreamInfo.
func (o *Object) NextGroup() (*Group, bool) {
	if o.Kind != Stream {
		return nil, false
	}
	if !o.stream.infoRead {
		if _, err := o.StreamInfo(); err != nil {
			return nil, false
		}
	}
	if o.stream.groups == 0 || o.d.err != nil {
		o.readProducers()
		return nil, false
	}
	o.stream.groups--
	at := o.d.src.offset()
	g, err := o.d.group()
	if err != nil {
		return nil, false
	}
	if _, twice := o.stream.names[string(g.Name)]; twice {
		o.d.corrupt(at, "group %.64q occurs twice", g.Name)
		return nil, false
	}
	if o.stream.names == nil {
		o.stream.names = make(map[string]struct{})
	}
	o.stream.names[string(g.Name)] = struct{}{}
	return g, true
}

// group reads one consumer group.
func (d *decoder) group() (*Group, error) {
	name, err := d.string()
	if err != nil {
		return nil, err
	}
	g := &Group{Name: slices.Clone(name), EntriesRead: -1}
	if g.LastID.MS, err = d.length(); err != nil {
		return nil, err
	}
	if g.LastID.Seq, err = d.length(); err != nil {
		return nil, err
	}
	if d.typ != typeStream {
		n, err := d.length()
		if err != nil {
			return nil, err
		}
		g.EntriesRead = max(int64(n), -1)
	}
	if err := d.groupPending(g); err != nil {
		return nil, err
	}
	return g, d.groupConsumers(g)
}

// noConsumer marks a pending entry before its consumer is read.
const noConsumer = -1

// groupPending reads the entries that are pending in the whole group and sorts them by ID.
func (d *decoder) groupPending(g *Group) error {
	at := d.src.offset()
	n, err := d.length()
	if err != nil {
		return err
	}
	for ; n > 0; n-- {
		b, err := d.fixed(streamIDBytes + 8)
		if err != nil {
			return err
		}
		p := Pending{ID: parseID(b), DeliveredMS: int64(binary.LittleEndian.Uint64(b[streamIDBytes:])), Consumer: noConsumer}
		if p.Deliveries, err = d.length(); err != nil {
			return err
		}
		g.Pending = append(g.Pending, p)
	}
	byID := func(a, b Pending) int { return a.ID.Compare(b.ID) }
	if !slices.IsSortedFunc(g.Pending, byID) {
		slices.SortFunc(g.Pending, byID)
	}
	for i := 1; i < len(g.Pending); i++ {
		if id := g.Pending[i].ID; id == g.Pending[i-1].ID {
			return d.corrupt(at, "group %.64q: %d-%d is pending twice", g.Name, id.MS, id.Seq)
		}
	}
	return nil
}

// groupConsumers reads the consumers and sets the owner of every pending entry.
func (d *decoder) groupConsumers(g *Group) error {
	at := d.src.offset()
	n, err := d.length()
	if err != nil {
		return err
	}
	names := make(map[string]struct{})
	for ; n > 0; n-- {
		name, err := d.string()
		if err != nil {
			return err
		}
		if _, twice := names[string(name)]; twice {
			return d.corrupt(at, "group %.64q: consumer %.64q occurs twice", g.Name, name)
		}
		names[string(name)] = struct{}{}
		c := Consumer{Name: slices.Clone(name)}
		seen, err := d.uint64LE()
		if err != nil {
			return err
		}
		active := seen
		if d.typ == typeStream3 || d.typ == typeStream4 {
			if active, err = d.uint64LE(); err != nil {
				return err
			}
		}
		c.SeenMS, c.ActiveMS = int64(seen), int64(active)
		g.Consumers = append(g.Consumers, c)
		if err := d.consumerPending(g, len(g.Consumers)-1); err != nil {
			return err
		}
	}
	for _, p := range g.Pending {
		if p.Consumer == noConsumer {
			return d.corrupt(at, "group %.64q: %d-%d is pending with no consumer", g.Name, p.ID.MS, p.ID.Seq)
		}
	}
	return nil
}

// consumerPending reads the pending entries of a consumer, which are also in the group's list.
func (d *decoder) consumerPending(g *Group, consumer int) error {
	n, err := d.length()
	if err != nil {
		return err
	}
	for ; n > 0; n-- {
		at := d.src.offset()
		b, err := d.fixed(streamIDBytes)
		if err != nil {
			return err
		}
		id := parseID(b)
		i, found := slices.BinarySearchFunc(g.Pending, id, func(p Pending, id ID) int { return p.ID.Compare(id) })
		if !found {
			return d.corrupt(at, "group %.64q: consumer has %d-%d, which is not pending", g.Name, id.MS, id.Seq)
		}
		if g.Pending[i].Consumer != noConsumer {
			return d.corrupt(at, "group %.64q: %d-%d is pending with two consumers", g.Name, id.MS, id.Seq)
		}
		g.Pending[i].Consumer = consumer
	}
	return nil
}

// parseID parses a binary ID at the start of b.
func parseID(b []byte) ID {
	return ID{MS: binary.BigEndian.Uint64(b), Seq: binary.BigEndian.Uint64(b[8:])}
}

// appendID appends the binary form of id.
func appendID(dst []byte, id ID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, id.MS), id.Seq)
}
