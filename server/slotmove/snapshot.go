package slotmove

// tableVersion begins the form of a table in snapshots.
const tableVersion = 1

// AppendTo appends the table in its format, do not change: a version in a byte, then all fields in the
// order of the structs. A number is a varint, a text and a list begin with their length.
func (t *Table) AppendTo(dst []byte) []byte {
	w := writer{append(dst, tableVersion)}
	w.text(t.Shard)
	w.numbers(t.Generation)
	w.ranges(t.Owned)
	w.numbers(t.Last)
	w.flag(t.Out != nil)
	if o := t.Out; o != nil {
		w.numbers(o.Number)
		w.text(o.Target)
		w.ranges(o.Slots)
		w.numbers(int64(o.State), o.Cut, o.Thaws)
		w.place(o.End)
		w.numbers(o.FreezeMS, o.Generation, o.Token)
	}
	w.length(len(t.In))
	for _, in := range t.In {
		w.id(in.Move)
		w.ranges(in.Slots)
		w.place(in.At)
		w.flag(in.Ready)
		w.digest(in.Digest)
	}
	w.length(len(t.Met))
	for _, m := range t.Met {
		w.id(ID{m.Source, m.Number})
		w.flag(m.Taken)
	}
	w.length(len(t.Sent))
	for _, s := range t.Sent {
		w.ranges(s.Slots)
		w.text(s.To)
		w.numbers(s.Generation)
	}
	return w.b
}

// ParseTable reads a table.
func ParseTable(b []byte) (*Table, error) {
	if len(b) == 0 || b[0] != tableVersion {
		return nil, errDamaged
	}
	r := reader{b: b[1:]}
	t := &Table{Shard: r.text(), Generation: r.number(), Owned: r.ranges(), Last: r.number()}
	if r.flag() {
		o := &Out{Number: r.number(), Target: r.text(), Slots: r.ranges()}
		state := r.number()
		o.State, o.Cut, o.Thaws, o.End = State(state), r.number(), r.number(), r.place()
		o.FreezeMS, o.Generation, o.Token = r.number(), r.number(), r.number()
		if state < int64(Leaving) || state > int64(Given) || len(o.Slots) == 0 {
			r.fail()
		}
		t.Out = o
	}
	for range r.length() {
		t.In = append(t.In, In{r.id(), r.ranges(), r.place(), r.flag(), r.digest()})
	}
	for range r.length() {
		id := r.id()
		t.Met = append(t.Met, Met{id.Source, id.Number, r.flag()})
	}
	for range r.length() {
		t.Sent = append(t.Sent, Sent{r.ranges(), r.text(), r.number()})
	}
	if r.bad || len(r.b) > 0 {
		return nil, errDamaged
	}
	return t, nil
}
