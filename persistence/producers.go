package persistence

import (
	"fmt"
	"iter"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/stream"
)

// saveProducers writes the producers that a stream remembers, after the stream.
func saveProducers(out *rdb.Writer, p *stream.Producers) {
	if p == nil {
		return
	}
	head := rdb.Producers{DurationS: uint64(p.Limits().DurationS), MaxSize: uint64(p.Limits().MaxSize)}
	head.Added, head.Duplicates = p.Counts()
	next, stop := iter.Pull(p.Each)
	defer stop()
	out.Producers(&head, func() (rdb.Message, bool) {
		m, ok := next()
		return rdb.Message{Producer: []byte(m.Producer), Name: []byte(m.Name), ID: rdb.ID(m.ID), AtMS: m.AtMS}, ok
	})
}

// loadProducers adds the producers in a field to the stream at key.
func loadProducers(in input, db *store.DB, key, field []byte) error {
	p, ok := rdb.ParseProducers(field)
	l := store.LoadedProducers{Added: p.Added, Duplicates: p.Duplicates}
	if p.DurationS <= stream.MaxProducerDurationS && p.MaxSize <= stream.MaxProducerSize {
		l.Limits = stream.ProducerLimits{DurationS: int(p.DurationS), MaxSize: int(p.MaxSize)}
	}
	ok = ok && l.Limits.Valid()
	for _, m := range p.Messages {
		ok = ok && len(m.Producer) > 0 && len(m.Name) > 0 && m.AtMS >= 0 && m.AtMS <= stream.MaxMessageMS
		l.Messages = append(l.Messages,
			stream.Message{Producer: string(m.Producer), Name: string(m.Name), ID: stream.ID(m.ID), AtMS: m.AtMS})
	}
	if !ok {
		return fmt.Errorf("rdb: offset %d: corrupt: key %q: malformed producers", in.Offset(), key)
	}
	db.Loading().Producers(key, l)
	return nil
}
