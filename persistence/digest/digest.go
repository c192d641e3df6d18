// Package digest condenses data into 20 bytes. Two servers with the same digest have the same keys and
// values, and the same keys with deadlines. The digests are those of Redis' DEBUG DIGEST and DEBUG
// DIGEST-VALUE, so that data can be compared with a Redis. The order of keys, fields and members does not
// matter, nor do the times of deadlines and the consumers of streams.
//
// The exact digest (exact.go) is ours: members of a raft group compare with it all that they must have in
// common.
//
// It knows the store, and neither files nor clients. A new kind of value needs a case in Digest.value and in
// exact.value.
package digest

import (
	"crypto/sha1"
	"encoding/binary"
	"math"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/internal/resp"
	"lockserver/persistence"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// Digest is a digest of data. The zero value is the digest of no key, and of an empty store.
type Digest [sha1.Size]byte

// kinds holds the numbers that Redis gives to kinds of values. For Redis a Bloom filter is a module's value.
var kinds = map[store.Kind]uint32{
	store.String: 0, store.List: 1, store.Set: 2, store.ZSet: 3, store.Hash: 4, store.Bloom: 5, store.Stream: 6,
}

// add adds b to the digest. The order of added parts does not matter.
func (d *Digest) add(b []byte) {
	sum := sha1.Sum(b)
	for i := range d {
		d[i] ^= sum[i]
	}
}

// follow adds b to the digest, after the parts before it.
func (d *Digest) follow(b []byte) {
	d.add(b)
	*d = sha1.Sum(d[:])
}

// Of returns the digest of all data, including overdue keys that are not removed yet, as in Redis. Its time
// grows with the data: it is for tests and for comparing two servers.
func Of(st *store.Store) (d Digest) {
	for id := range st.Len() {
		db := st.DB(id)
		if db.Len() == 0 {
			continue
		}
		d.follow(binary.BigEndian.AppendUint32(nil, uint32(id)))
		db.Keys().EachStored(func(key string, r store.Ref) bool {
			var one Digest
			one.follow([]byte(key))
			one.value(r)
			d.add(one[:])
			return true
		})
	}
	return d
}

// Value returns the digest of a value, without its key. The digest of a missing value is all zero.
func Value(r store.Ref) (d Digest) {
	if r.OK() {
		d.value(r)
	}
	return d
}

// value adds a value, and whether it has a deadline.
func (d *Digest) value(r store.Ref) {
	d.follow(binary.BigEndian.AppendUint32(nil, kinds[r.Kind()]))
	switch r.Kind() {
	case store.String:
		d.follow(r.Bytes())
	case store.List:
		d.list(r.List())
	case store.Set:
		r.Set().Each(func(member []byte) bool {
			d.add(member)
			return true
		})
	case store.ZSet:
		d.zset(r.ZSet())
	case store.Hash:
		d.hash(r.Hash())
	case store.Stream:
		d.stream(r.Stream())
	case store.Bloom:
		d.follow(persistence.Dump(nil, r, false))
	}
	if r.DeadlineMS() != 0 {
		d.add([]byte("!!expire!!"))
	}
}

func (d *Digest) list(l *list.List) {
	var buf []byte
	l.Range(0, l.Len(), list.Right, func(v list.Value) bool {
		buf = v.Append(buf[:0])
		d.follow(buf)
		return true
	})
}

func (d *Digest) zset(z *zset.ZSet) {
	var buf []byte
	z.Range(0, z.Len(), func(member []byte, score float64) bool {
		var one Digest
		one.follow(member)
		buf = appendScore(buf[:0], score)
		one.follow(buf)
		d.add(one[:])
		return true
	})
}

// appendScore appends a score in the form of Redis' digests, which differs from replies: an integer may have
// an exponent.
func appendScore(dst []byte, score float64) []byte {
	if math.IsInf(score, 0) {
		return resp.AppendDouble(dst, score)
	}
	return decimal.AppendShortest(dst, score)
}

func (d *Digest) hash(h *hash.Hash) {
	h.EachTimed(func(field, value []byte, atMS int64) bool {
		var one Digest
		one.follow(field)
		one.follow(value)
		if atMS != 0 {
			one.add([]byte("!!hexpire!!"))
		}
		d.add(one[:])
		return true
	})
}

func (d *Digest) stream(s *stream.Stream) {
	var buf []byte
	s.Range(stream.ID{}, stream.MaxID(), false, func(id stream.ID, fv stream.FieldValues) bool {
		buf = strconv.AppendUint(buf[:0], id.MS, 10)
		buf = strconv.AppendUint(append(buf, '.'), id.Seq, 10)
		d.follow(buf)
		for field, value, ok := fv.Next(); ok; field, value, ok = fv.Next() {
			d.follow(field)
			d.follow(value)
		}
		return true
	})
}
