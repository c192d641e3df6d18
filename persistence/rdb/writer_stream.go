package rdb

// Stream announces a stream of nodes nodes, which may be 0. StreamNode writes each node, StreamInfo the part
// after them, and Group each group that StreamInfo announced.
func (w *Writer) Stream(nodes int) {
	w.begin(typeStream2, streamNodePart, max(nodes, 1))
	if w.err != nil {
		return
	}
	w.left = uint64(nodes)
	w.length(w.left)
	w.lastID = ID{}
	if nodes == 0 {
		w.part = streamInfoPart
	}
}

// StreamNode writes a run of entries as a listpack, without checking its layout. Masters ascend.
func (w *Writer) StreamNode(master ID, lp []byte) {
	if !w.take(streamNodePart) {
		return
	}
	if master.Compare(w.lastID) <= 0 && w.lastID != (ID{}) {
		w.misuse("stream node %d-%d does not ascend", master.MS, master.Seq)
		return
	}
	w.lastID = master
	w.length(streamIDBytes)
	w.id(master)
	w.bytes(lp)
	if w.left == 0 {
		w.part = streamInfoPart
	}
}

// StreamInfo writes the part after the nodes. Legacy must be false.
func (w *Writer) StreamInfo(info StreamInfo) {
	if w.part != streamInfoPart {
		w.misuse("stream info before its nodes")
	}
	if info.Legacy {
		w.misuse("stream info of before Redis 7")
	}
	if w.err != nil {
		return
	}
	w.length(info.Length)
	w.idLengths(info.LastID)
	w.idLengths(info.FirstID)
	w.idLengths(info.MaxDeletedID)
	w.length(info.EntriesAdded)
	w.length(info.Groups)
	w.part, w.left = groupPart, info.Groups
}

// Group writes a group that StreamInfo announced. Pending is sorted by ID.
func (w *Writer) Group(g *Group) {
	if !w.take(groupPart) {
		return
	}
	w.text(g.Name)
	w.idLengths(g.LastID)
	w.length(uint64(g.EntriesRead))
	w.length(uint64(len(g.Pending)))
	owned := make([][]ID, len(g.Consumers))
	for i, p := range g.Pending {
		if p.Consumer < 0 || p.Consumer >= len(g.Consumers) || i > 0 && p.ID.Compare(g.Pending[i-1].ID) <= 0 {
			w.misuse("group %.64q: pending entry %d-%d has no consumer or does not ascend", g.Name, p.ID.MS, p.ID.Seq)
			return
		}
		owned[p.Consumer] = append(owned[p.Consumer], p.ID)
		w.id(p.ID)
		w.uint64LE(uint64(p.DeliveredMS))
		w.length(p.Deliveries)
	}
	w.length(uint64(len(g.Consumers)))
	for i, c := range g.Consumers {
		w.text(c.Name)
		w.uint64LE(uint64(c.SeenMS))
		w.length(uint64(len(owned[i])))
		for _, id := range owned[i] {
			w.id(id)
		}
	}
}

// id writes an ID in its binary form.
func (w *Writer) id(id ID) {
	w.reserve(streamIDBytes)
	w.buf = appendID(w.buf, id)
}

// idLengths writes an ID as two lengths.
func (w *Writer) idLengths(id ID) {
	w.length(id.MS)
	w.length(id.Seq)
}
