package persistence

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/stream"
)

// producersOf formats the producers that a stream remembers.
func producersOf(t *testing.T, db *store.DB, key string) string {
	t.Helper()
	p := db.Peek([]byte(key)).Stream().Producers()
	require.NotNil(t, p)
	var all strings.Builder
	added, duplicates := p.Counts()
	fmt.Fprint(&all, p.Limits(), added, duplicates)
	p.Each(func(m stream.Message) bool {
		fmt.Fprintf(&all, "\n%q %q %v %d", m.Producer, m.Name, m.ID, m.AtMS)
		return true
	})
	return all.String()
}

// TestProducersComeBack: snapshots and payloads contain all the producers that streams remember, and the
// loaded stream forgets them at the right time.
func TestProducersComeBack(t *testing.T) {
	st := payloadStore()
	for _, n := range []int{0, 1, 700, 9000} { // the last two numbers need several fields
		e := st.DB(0).EditStream(fmt.Append(nil, "x", n))
		e.Create()
		e.LimitProducers(stream.ProducerLimits{DurationS: 7, MaxSize: 5000})
		for i := range n {
			name := append(fmt.Append(nil, "message", i), make([]byte, (700*100)/max(n, 100))...)
			e.Remember(fmt.Append(nil, "producer", i%3), name, stream.ID{MS: uint64(i), Seq: 1 << 63}, payloadNowMS-int64(i%9))
			_, again := e.Produced(fmt.Append(nil, "producer", i%3), name)
			require.True(t, again)
		}
	}
	st.DB(0).EditString([]byte("s")).Set([]byte("between"), store.NoTTL)
	dying := st.DB(0).EditStream([]byte("dying"))
	dying.Create()
	dying.Remember([]byte("p"), []byte("m"), stream.ID{MS: 1}, payloadNowMS)
	st.DB(0).Expire([]byte("dying"), payloadNowMS+1)
	snap := st.Cut()
	var file bytes.Buffer
	_, err := Save(&file, snap, SaveOptions{Version: "7.4.1", Checksum: true})
	require.NoError(t, err)
	snap.Release()

	to := payloadStore()
	to.SetNow((payloadNowMS + 2) * 1000)
	got, err := Load(bytes.NewReader(file.Bytes()), to, LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, 5, got.Keys)
	apart := payloadStore()
	for _, n := range []int{0, 1, 700, 9000} {
		key := fmt.Sprint("x", n)
		require.Equal(t, producersOf(t, st.DB(0), key), producersOf(t, to.DB(0), key))
		value, err := ReadPayload(apart, Dump(nil, st.DB(0).Peek([]byte(key)), n == 700))
		require.NoError(t, err)
		apart.DB(0).Restore([]byte(key), value, store.Restoring{IdleS: -1, Freq: -1})
		require.Equal(t, producersOf(t, st.DB(0), key), producersOf(t, apart.DB(0), key))
	}
	require.Equal(t, st.Used()-st.DB(0).Peek([]byte("dying")).Weight([]byte("dying")), to.Used())
	for _, loaded := range []*store.Store{to, apart} {
		loaded.SetNow((payloadNowMS + 7000 - 7) * 1000)
		for loaded.ExpireDue(100) {
		}
		producers, messages := loaded.DB(0).Peek([]byte("x700")).Stream().Producers().Tracked()
		require.Equal(t, 3, producers)
		require.Equal(t, 700-700/9, messages)
		loaded.SetNow((payloadNowMS + 7001) * 1000)
		for loaded.ExpireDue(100) {
		}
		_, messages = loaded.DB(0).Peek([]byte("x9000")).Stream().Producers().Tracked()
		require.Zero(t, messages)
	}
}

// TestMalformedProducers: a malformed field ends the reading; no key is left behind.
func TestMalformedProducers(t *testing.T) {
	st := payloadStore()
	value := func(out *rdb.Writer) {
		out.Stream(0)
		out.StreamInfo(rdb.StreamInfo{})
	}
	field := func(p rdb.Producers) []byte {
		payload, err := rdb.DumpPayload(nil, rdb.WriterOptions{}, func(out *rdb.Writer) {
			value(out)
			next := p.Messages
			out.Producers(&p, func() (m rdb.Message, ok bool) {
				if len(next) > 0 {
					m, next, ok = next[0], next[1:], true
				}
				return m, ok
			})
		})
		require.NoError(t, err)
		return payload
	}
	m := rdb.Message{Producer: []byte("p"), Name: []byte("n"), AtMS: 1}
	last := rdb.Message{Producer: m.Producer, Name: m.Name, AtMS: stream.MaxMessageMS}
	_, err := ReadPayload(st, field(rdb.Producers{DurationS: stream.MaxProducerDurationS, MaxSize: 1, Messages: []rdb.Message{m, m, last}}))
	require.NoError(t, err)
	for name, p := range map[string]rdb.Producers{
		"no duration":        {MaxSize: 1},
		"no size":            {DurationS: 1},
		"too long":           {DurationS: 86401, MaxSize: 1},
		"too many":           {DurationS: 1, MaxSize: 10001},
		"nobody's":           {DurationS: 1, MaxSize: 1, Messages: []rdb.Message{{Name: m.Name}}},
		"without a name":     {DurationS: 1, MaxSize: 1, Messages: []rdb.Message{{Producer: m.Name}}},
		"before 1970":        {DurationS: 1, MaxSize: 1, Messages: []rdb.Message{{Producer: m.Name, Name: m.Name, AtMS: -1}}},
		"beyond all time":    {DurationS: 1, MaxSize: 1, Messages: []rdb.Message{{Producer: m.Name, Name: m.Name, AtMS: stream.MaxMessageMS + 1}}},
		"out of all numbers": {DurationS: 1 << 63, MaxSize: 1},
	} {
		_, err := ReadPayload(st, field(p))
		require.ErrorContains(t, err, "malformed producers", name)
		require.Regexp(t, offsetIn, err.Error())
		require.Zero(t, st.Apart().Len()+st.Used())
	}
	for _, raw := range []string{"", "\x02", "\x01", "\x01\x01\x01", "\x01\x01\x01\x00\x00\x05p", "\x01\x01\x01\x00\x00\x01p\x01n\x01\x01\x80"} {
		payload, err := rdb.DumpPayload(nil, rdb.WriterOptions{}, func(out *rdb.Writer) {
			value(out)
			out.Aux(rdb.AuxProducers, raw)
		})
		require.NoError(t, err)
		_, err = ReadPayload(st, payload)
		require.ErrorContains(t, err, "malformed producers", "%q", raw)
	}
	for _, behind := range []func(out *rdb.Writer){
		func(out *rdb.Writer) { out.Aux("another", "field") },
		func(out *rdb.Writer) { out.SelectDB(1) },
	} {
		payload, err := rdb.DumpPayload(nil, rdb.WriterOptions{}, func(out *rdb.Writer) {
			value(out)
			behind(out)
		})
		require.NoError(t, err)
		_, err = ReadPayload(st, payload)
		require.ErrorContains(t, err, "behind the value")
	}
}
