package commands

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"lockserver/store/stream"
)

// produceCall holds the options IDMP and IDMPAUTO of XADD: the producer and its message.
type produceCall struct {
	given    bool
	auto     bool // IDMPAUTO: the message is identified by its fields
	producer []byte
	name     []byte
}

// readNext reads one of the options if the next words are one with its arguments, and reports whether it did.
func (p *produceCall) readNext(a *Scanner) bool {
	auto := a.Left() > 1 && a.IsNext("IDMPAUTO")
	if !auto && (a.Left() < 3 || !a.IsNext("IDMP")) {
		return false
	}
	if p.given {
		a.Fail(ErrProduceTwice)
	}
	p.given, p.auto = true, auto
	p.producer = a.Bytes()
	switch {
	case auto && len(p.producer) == 0:
		a.Fail(ErrProduceAutoProducer)
	case auto:
	case len(p.producer) == 0:
		a.Fail(ErrProduceProducer)
	default:
		if p.name = a.Bytes(); len(p.name) == 0 {
			a.Fail(ErrProduceName)
		}
	}
	return true
}

// finish computes the name of a message without one. It does not depend on the order of the fields.
func (p *produceCall) finish(fields [][]byte) {
	if !p.auto {
		return
	}
	pairs := make([][2][]byte, 0, len(fields)/2)
	for pair := range slices.Chunk(fields, 2) {
		pairs = append(pairs, [2][]byte(pair))
	}
	slices.SortFunc(pairs, func(a, b [2][]byte) int {
		return cmp.Or(bytes.Compare(a[0], b[0]), bytes.Compare(a[1], b[1]))
	})
	h := xxh3.New()
	var length [8]byte
	for _, pair := range pairs {
		for _, b := range pair {
			binary.LittleEndian.PutUint64(length[:], uint64(len(b)))
			_, _ = h.Write(length[:]) // a hash never fails
			_, _ = h.Write(b)
		}
	}
	sum := h.Sum128().Bytes()
	p.name = sum[:]
}

// xcfgset sets how long a stream remembers messages, and how many of each producer.
func xcfgset(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	var durationS, maxSize int
	for a.More() {
		switch {
		case a.Left() > 1 && a.IsNext("IDMP-DURATION"):
			durationS = producerLimit(a, durationS, stream.MaxProducerDurationS, ErrCfgDuration, ErrCfgDurationTwice)
		case a.Left() > 1 && a.IsNext("IDMP-MAXSIZE"):
			maxSize = producerLimit(a, maxSize, stream.MaxProducerSize, ErrCfgMaxSize, ErrCfgMaxSizeTwice)
		default:
			a.Syntax()
		}
	}
	if durationS == 0 && maxSize == 0 {
		a.Fail(ErrCfgNothing)
	}
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.streamToWrite(key)
	switch {
	case err != nil:
		return err
	case s == nil:
		return ErrNoSuchKey
	}
	edit := c.DB.EditStream(key)
	l := edit.ProducerLimits()
	edit.LimitProducers(stream.ProducerLimits{DurationS: cmp.Or(durationS, l.DurationS), MaxSize: cmp.Or(maxSize, l.MaxSize)})
	c.Out.OK()
	return nil
}

// producerLimit reads one of the two limits; before is its value so far, or 0. bounds and twice are the
// errors for a value out of range and for a second occurrence.
func producerLimit(a *Scanner, before, most int, bounds, twice Error) int {
	n := a.Int()
	switch {
	case before != 0:
		a.Fail(twice)
	case n < 1 || n > int64(most):
		a.Fail(bounds)
	}
	return int(n)
}

// xidmprecord makes a stream remember a message, as an XADD with IDMP did. TIME is the time of that XADD, if
// it differs from the time in the entry's ID.
func xidmprecord(c *Ctx) error {
	a := c.Args()
	key, producer, name, id := a.Key(), a.Bytes(), a.Bytes(), streamID(a)
	atMS := int64(min(id.MS, stream.MaxMessageMS))
	for a.More() {
		if a.Option() == "TIME" {
			atMS = a.IntRange(0, stream.MaxMessageMS)
		}
	}
	switch {
	case len(producer) == 0:
		a.Fail(ErrProduceProducer)
	case len(name) == 0:
		a.Fail(ErrProduceName)
	}
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.streamToWrite(key)
	switch {
	case err != nil:
		return err
	case s == nil:
		return ErrNoSuchKey
	case !s.Has(id):
		return ErrRecordEntry
	}
	edit := c.DB.EditStream(key)
	switch known, ok := edit.Recorded(producer, name); {
	case !ok:
		edit.Remember(producer, name, id, atMS)
	case known != id:
		return ErrRecordOther
	}
	c.Out.OK()
	return nil
}
