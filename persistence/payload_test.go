package persistence

import (
	"bytes"
	"encoding/binary"
	"hash/crc64"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

const payloadNowMS = 1_700_000_000_000

func payloadStore() *store.Store {
	st := store.New(1, store.Limits{Hash: hash.Limits{Entries: 8, Value: 64}, Set: set.Limits{IntsetEntries: 8, Entries: 8, Value: 64},
		ZSet: zset.Limits{Entries: 8, Value: 64}, List: list.DefaultLimits(), Stream: stream.DefaultLimits()})
	st.SetNow(payloadNowMS * 1000)
	return st
}

// everyValue fills a database with a value of each kind and form.
func everyValue(db *store.DB) {
	db.EditString([]byte("text")).Set(bytes.Repeat([]byte("abc"), 50), store.NoTTL)
	db.EditString([]byte("number")).Set([]byte("-12345"), store.NoTTL)
	for _, n := range []int{3, 100} {
		key := func(kind string) []byte { return append([]byte(kind), byte('0'+n%10)) }
		h, s, l, z := db.EditHash(key("hash")), db.EditSet(key("set")), db.EditList(key("list")), db.EditZSet(key("zset"))
		timed, ints, x := db.EditHash(key("timed")), db.EditSet(key("ints")), db.EditStream(key("stream"))
		for i := range n {
			word := append([]byte("member"), byte('0'+i/10), byte('0'+i%10))
			h.Set(word, word)
			timed.Set(word, word)
			s.Add(word)
			ints.Add(word[6:])
			l.Push(list.Right, word)
			z.Set(word, float64(i)/7)
			x.Add(stream.ID{MS: uint64(i + 1)}, [][]byte{word, word})
		}
		timed.ExpireField([]byte("member01"), payloadNowMS+1000)
		produced := db.EditStream(key("produced"))
		for i := range n {
			word := append([]byte("message"), byte('0'+i/10), byte('0'+i%10))
			produced.Add(stream.ID{MS: uint64(i + 1)}, [][]byte{word, word})
			produced.Remember(word[7:8], word, stream.ID{MS: uint64(i + 1)}, payloadNowMS-int64(i))
		}
	}
}

// sealPayload makes a payload of a type and a value. The version and Redis' CRC-64 follow the value (Jones,
// reflected, without the inversions of the standard library).
func sealPayload(version uint16, body []byte) []byte {
	p := binary.LittleEndian.AppendUint16(bytes.Clone(body), version)
	table := crc64.MakeTable(bits.Reverse64(0xad93d23594c935a9))
	return binary.LittleEndian.AppendUint64(p, ^crc64.Update(^uint64(0), table, p))
}

// TestPayloadsComeBack: values of every kind and form are restored, and nothing else in the store changes.
func TestPayloadsComeBack(t *testing.T) {
	st, to := payloadStore(), payloadStore()
	everyValue(st.DB(0))
	require.Equal(t, 18, st.DB(0).Len())
	st.DB(0).Keys().Each(func(key string, r store.Ref) bool {
		for _, compress := range []bool{false, true} {
			p := Dump([]byte("kept"), r, compress)
			require.Equal(t, "kept", string(p[:4]))
			value, err := ReadPayload(to, p[4:])
			require.NoError(t, err, key)
			require.Zero(t, to.DB(0).Len()+to.Apart().Len(), "reading changes nothing")
			require.Equal(t, r.Kind(), value.Ref().Kind())
			require.Equal(t, r.Encoding(), value.Ref().Encoding(), key)
			if r.Encoding() != "hashtable" { // hash tables have no order
				require.Equal(t, p[4:], Dump(nil, value.Ref(), compress), key)
			}
			to.DB(0).Restore([]byte("k"), value, store.Restoring{AtMS: payloadNowMS + 5, IdleS: 7})
			k := to.DB(0).Peek([]byte("k"))
			require.Equal(t, r.Encoding(), k.Encoding())
			require.EqualValues(t, payloadNowMS+5, k.DeadlineMS())
			require.EqualValues(t, 7, to.IdleS(k))
			require.True(t, to.DB(0).Delete([]byte("k")))
			require.Zero(t, to.DB(0).Keys().TimedHashes()+to.DB(0).Keys().Timed())
		}
		return true
	})
}

// TestPayloadWithOverdueFields: overdue fields are left out, and a value with only such fields is nil.
func TestPayloadWithOverdueFields(t *testing.T) {
	st := payloadStore()
	h := st.DB(0).EditHash([]byte("h"))
	h.Set([]byte("lasting"), []byte("1"))
	h.Set([]byte("dying"), []byte("2"))
	h.ExpireField([]byte("dying"), payloadNowMS+10)
	one := Dump(nil, st.DB(0).Peek([]byte("h")), false)
	h.ExpireField([]byte("lasting"), payloadNowMS+20)
	both := Dump(nil, st.DB(0).Peek([]byte("h")), false)

	st.SetNow((payloadNowMS + 15) * 1000)
	value, err := ReadPayload(st, one)
	require.NoError(t, err)
	require.Equal(t, 1, value.Ref().Hash().Len())
	value, err = ReadPayload(st, both)
	require.NoError(t, err)
	require.Equal(t, 1, value.Ref().Hash().Len())
	st.SetNow((payloadNowMS + 25) * 1000)
	value, err = ReadPayload(st, both)
	require.NoError(t, err)
	require.Nil(t, value)
	require.Zero(t, st.Apart().Len())
}

// TestDamagedPayloads: the checksum detects each flipped bit and each truncation. The decoder detects
// malformed values with a right checksum. No key is left behind.
func TestDamagedPayloads(t *testing.T) {
	st, from := payloadStore(), payloadStore()
	everyValue(from.DB(0))
	from.DB(0).Keys().Each(func(key string, r store.Ref) bool {
		p := Dump(nil, r, true)
		for i := range p {
			flipped := bytes.Clone(p)
			flipped[i] ^= 1 << (i % 8)
			_, err := ReadPayload(st, flipped)
			require.ErrorIs(t, err, rdb.ErrPayloadFooter, "%s, byte %d", key, i)
			_, err = ReadPayload(st, p[:i])
			require.ErrorIs(t, err, rdb.ErrPayloadFooter, "%s, %d bytes", key, i)
		}
		body := p[:len(p)-10]
		for _, unsound := range [][]byte{body[:len(body)-1], append(bytes.Clone(body), 0), body[:1], {99}, {}} {
			_, err := ReadPayload(st, sealPayload(12, unsound))
			require.Error(t, err, "%s, %q", key, unsound)
			require.NotErrorIs(t, err, rdb.ErrPayloadFooter)
			require.Zero(t, st.Apart().Len()+st.Apart().Keys().TimedHashes())
		}
		_, err := ReadPayload(st, sealPayload(rdb.MaxVersion+1, body))
		require.ErrorIs(t, err, rdb.ErrPayloadFooter, "a newer version")
		return true
	})
}

// FuzzReadPayload: any body with a right checksum is either refused, and leaves no key behind, or becomes a
// value that can be restored, copied, and dumped again.
func FuzzReadPayload(f *testing.F) {
	from := payloadStore()
	everyValue(from.DB(0))
	from.DB(0).Keys().Each(func(_ string, r store.Ref) bool {
		for _, compress := range []bool{false, true} {
			p := Dump(nil, r, compress)
			f.Add(p[:len(p)-10])
		}
		return true
	})
	st := payloadStore()
	db, key := st.DB(0), []byte("k")
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := ReadPayload(st, sealPayload(rdb.MaxVersion, body))
		if st.Apart().Len() != 0 || st.Apart().Keys().TimedHashes() != 0 {
			t.Fatal("something is left apart")
		}
		if err != nil || value == nil {
			return
		}
		db.Restore(key, value, store.Restoring{})
		db.Copy(key, db, []byte("copy"))
		kind := db.Peek(key).Kind()
		again, err := ReadPayload(st, Dump(nil, db.Peek([]byte("copy")), true))
		if err != nil || again.Ref().Kind() != kind {
			t.Fatalf("a %s cannot be read again: %v", kind, err)
		}
		db.Delete(key)
		db.Delete([]byte("copy"))
		if db.Len() != 0 || db.Keys().TimedHashes() != 0 {
			t.Fatal("something is left behind")
		}
	})
}
