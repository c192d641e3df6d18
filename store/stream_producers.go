package store

import "lockserver/store/stream"

// Produced looks for the entry of a producer's message. An entry that is found counts as a duplicate. This
// count is not recorded, like the time when a consumer was last seen.
func (e *StreamEdit) Produced(producer, name []byte) (id stream.ID, ok bool) {
	if e.s == nil || e.s.Producers() == nil {
		return stream.ID{}, false
	}
	if id, ok = e.s.Producers().Find(producer, name, e.db.store.nowMS); ok {
		e.s.Producers().Refused()
	}
	return id, ok
}

// Recorded returns the entry of a producer's message, if the message is remembered. While a log is read it
// finds nothing: the commands in the log decide.
func (e *StreamEdit) Recorded(producer, name []byte) (id stream.ID, ok bool) {
	if e.s.Producers() == nil || e.db.store.frozenTime {
		return stream.ID{}, false
	}
	return e.s.Producers().Find(producer, name, e.db.store.nowMS)
}

// ProducerLimits returns for how long, and how many messages of a producer, the stream remembers. A stream
// without limits of its own has the limits of new streams.
func (e *StreamEdit) ProducerLimits() stream.ProducerLimits {
	if e.s.Producers() != nil {
		return e.s.Producers().Limits()
	}
	if l := e.db.store.limits.Producers; l != (stream.ProducerLimits{}) {
		return l
	}
	return stream.DefaultProducerLimits()
}

// Remember records that a producer's message became the entry id, at atMS. The stream must exist. Limits that
// were never set are the limits of new streams.
func (e *StreamEdit) Remember(producer, name []byte, id stream.ID, atMS int64) {
	e.LimitProducers(e.ProducerLimits())
	p := e.s.Producers()
	was := p.Size()
	p.Added(stream.Message{Producer: string(producer), Name: string(name), ID: id, AtMS: atMS})
	e.db.space.charge(p.Size() - was)
	e.watchProducers()
	e.db.store.dirty++
	if e.db.store.effects == nil {
		return
	}
	args := [][]byte{e.key, producer, name, id.AppendTo(nil)}
	if uint64(atMS) != id.MS { // the stream's last ID is ahead of the clock
		args = append(args, []byte("TIME"), appendInt(nil, atMS))
	}
	e.db.store.record(e.db, "XIDMPRECORD", args...)
}

// watchProducers updates the queue after a change of the remembered messages.
func (e *StreamEdit) watchProducers() {
	name, _ := e.db.space.keys.At(e.db.find(e.key))
	e.db.space.watchProducers(name, e.s)
}

// LimitProducers sets for how long, and how many messages of a producer, the stream remembers. If the limits
// differ from the old ones, it forgets all messages. The stream must exist.
func (e *StreamEdit) LimitProducers(l stream.ProducerLimits) {
	was := e.s.Producers().Size()
	if !e.s.LimitProducers(l) {
		return
	}
	e.db.space.charge(e.s.Producers().Size() - was)
	e.watchProducers()
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "XCFGSET", e.key, []byte("IDMP-DURATION"), appendInt(nil, int64(l.DurationS)),
			[]byte("IDMP-MAXSIZE"), appendInt(nil, int64(l.MaxSize)))
	}
	e.db.changed(e.key)
}

// LoadedProducers is the data of a file about a stream's producers, or a part of it. Each part has the limits
// and counts.
type LoadedProducers struct {
	Limits            stream.ProducerLimits
	Added, Duplicates uint64
	Messages          []stream.Message
}

// Producers adds messages to the memory of a stream that was just loaded.
func (l Loading) Producers(key []byte, of LoadedProducers) {
	slot := l.db.space.keys.Find(l.db.space.keys.Hash(key), key)
	name, _ := l.db.space.keys.At(slot)
	v := l.db.space.own(slot, nil)
	s := v.stream()
	was := s.Producers().Size()
	s.LimitProducers(of.Limits)
	for _, m := range of.Messages {
		s.Producers().Remember(m)
	}
	s.Producers().SetCounts(of.Added, of.Duplicates)
	l.db.space.charge(s.Producers().Size() - was)
	l.db.space.watchProducers(name, s)
}
