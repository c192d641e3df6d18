package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/store/stream"
	"lockserver/tests/testkit"
)

// producerModel plays commands on streams with producers on a fixture, and on slices.
type producerModel struct {
	t    *testing.T
	f    *fixture
	rand *rand.Rand
	dbs  []map[string]*producedStream
	db   int
}

// producedStream is a stream of the model, with only its producers.
type producedStream struct {
	limits            stream.ProducerLimits
	uses              bool // it has, or had, producers
	messages          []stream.Message
	added, duplicates int
}

func (s *producedStream) copy() *producedStream {
	c := *s
	c.messages = slices.Clone(s.messages)
	return &c
}

// forget removes overdue messages.
func (m *producerModel) forget() {
	for _, db := range m.dbs {
		for _, s := range db {
			s.messages = slices.DeleteFunc(s.messages, func(one stream.Message) bool {
				return one.AtMS+int64(s.limits.DurationS)*1000 < m.f.nowMS
			})
		}
	}
}

// add plays an XADD with IDMP.
func (m *producerModel) add(key string) {
	db := m.dbs[m.db]
	s := db[key]
	one := stream.Message{Producer: "p" + strconv.Itoa(m.rand.IntN(3)), Name: "m" + strconv.Itoa(m.rand.IntN(12)), AtMS: m.f.nowMS}
	reply := m.f.do("XADD", key, "MAXLEN", strconv.Itoa(m.rand.IntN(20)), "IDMP", one.Producer, one.Name, "*", "f", "v").Str
	var ok bool
	if one.ID, ok = parseStreamID([]byte(reply), 0); !ok {
		m.t.Fatalf("XADD answers %q", reply)
	}
	if s == nil {
		s = &producedStream{limits: stream.DefaultProducerLimits()}
		db[key] = s
	}
	s.uses = true
	known := slices.IndexFunc(s.messages, func(o stream.Message) bool { return o.Producer == one.Producer && o.Name == one.Name })
	if known >= 0 {
		require.Equal(m.t, s.messages[known].ID, one.ID)
		s.duplicates++
		return
	}
	s.added++
	s.messages = append(s.messages, one)
	n := 0
	for _, o := range s.messages {
		require.True(m.t, o == one || o.ID.Less(one.ID), "an entry of its own")
		if o.Producer == one.Producer {
			n++
		}
	}
	if n > s.limits.MaxSize {
		i := slices.IndexFunc(s.messages, func(o stream.Message) bool { return o.Producer == one.Producer })
		s.messages = slices.Delete(s.messages, i, i+1)
	}
}

// step plays one random command.
func (m *producerModel) step() {
	key, other := "s"+strconv.Itoa(m.rand.IntN(3)), "s"+strconv.Itoa(m.rand.IntN(3))
	db := m.dbs[m.db]
	s := db[key]
	switch m.rand.IntN(30) {
	case 0:
		l := stream.ProducerLimits{DurationS: 1 + m.rand.IntN(3), MaxSize: 2 + m.rand.IntN(4)}
		if s != nil {
			m.f.want("+OK", "XCFGSET", key, "IDMP-MAXSIZE", strconv.Itoa(l.MaxSize), "IDMP-DURATION", strconv.Itoa(l.DurationS))
			if s.uses = true; s.limits != l {
				s.limits, s.messages = l, nil
			}
		}
	case 1: // the last ID is ahead of the clock for a while
		if m.f.do("XADD", key, strconv.FormatInt(m.f.nowMS+int64(m.rand.IntN(2000)), 10)+"-5", "f", "v").Str[0] != 'E' && s == nil {
			db[key] = &producedStream{limits: stream.DefaultProducerLimits()}
		}
	case 2:
		if s != nil && key != other {
			m.f.want("+OK", "RENAME", key, other)
			db[other] = s
			delete(db, key)
		}
	case 3:
		to := m.rand.IntN(len(m.dbs))
		if s != nil && (key != other || to != m.db) {
			m.f.want("1", "COPY", key, other, "DB", strconv.Itoa(to), "REPLACE")
			m.dbs[to][other] = s.copy()
		}
	case 4:
		to := (m.db + 1) % len(m.dbs)
		if s != nil && m.dbs[to][key] == nil {
			m.f.want("1", "MOVE", key, strconv.Itoa(to))
			m.dbs[to][key] = s
			delete(db, key)
		}
	case 5:
		m.f.want("+OK", "SWAPDB", "0", "1")
		m.dbs[0], m.dbs[1] = m.dbs[1], m.dbs[0]
	case 6:
		if m.rand.IntN(8) == 0 {
			m.f.want("+OK", "FLUSHDB")
			clear(db)
		}
	case 7:
		if m.rand.IntN(8) == 0 {
			m.f.do("SET", key, "x")
			m.f.do("DEL", key)
			delete(db, key)
		}
	case 8:
		m.db = m.rand.IntN(len(m.dbs))
		m.f.client(1).db = m.f.store.DB(m.db)
	case 9:
		m.f.do("XTRIM", key, "MAXLEN", "1")
	case 10, 11, 12:
		ms := int64(m.rand.IntN(300))
		if m.rand.IntN(2) == 0 {
			m.f.advance(ms)
		} else { // due messages are kept
			m.f.nowMS += ms
			m.f.store.SetNow(m.f.nowMS * 1000)
		}
		m.forget()
	default:
		m.add(key)
	}
}

// check compares the messages that the streams remember with the model.
func (m *producerModel) check() {
	for m.f.store.ExpireDue(7) {
	}
	for id, db := range m.dbs {
		require.Equal(m.t, len(db), m.f.store.DB(id).Len())
		for key, want := range db {
			p := m.f.store.DB(id).Find([]byte(key)).Stream().Producers()
			if !want.uses {
				require.Nil(m.t, p)
				continue
			}
			require.Equal(m.t, want.limits, p.Limits())
			added, duplicates := p.Counts()
			require.Equal(m.t, [2]int{want.added, want.duplicates}, [2]int{int(added), int(duplicates)})
			require.ElementsMatch(m.t, want.messages, messagesOf(p))
		}
	}
}

func messagesOf(p *stream.Producers) (all []stream.Message) {
	p.Each(func(one stream.Message) bool {
		all = append(all, one)
		return true
	})
	return all
}

// rememberedOf returns the messages that the streams of the databases remember, without the count of
// duplicates, which is not recorded.
func rememberedOf(f *fixture, dbs int) map[string]string {
	for f.store.ExpireDue(1000) {
	}
	all := map[string]string{}
	for id := range dbs {
		f.store.DB(id).Keys().Each(func(key string, r store.Ref) bool {
			text := "nothing"
			if p := r.Stream().Producers(); p != nil {
				added, _ := p.Counts()
				text = fmt.Sprint(p.Limits(), added, messagesOf(p))
			}
			all[fmt.Sprint(id, " ", key)] = text
			return true
		})
	}
	return all
}

// TestProducersAgainstModel: random commands on streams with producers have the same results as on slices.
// Their effects do, too, at each moment, and at the end when they are replayed like a log.
func TestProducersAgainstModel(t *testing.T) {
	seed := testkit.Seed(t) % 1_000_000_000
	families := []func() []Row{StreamRows, KeyRows, KeyspaceRows, StringRows}
	for round := range testkit.Steps(2, 6) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		f, along, after := newFixture(t, families...), newFixture(t, families...), newFixture(t, families...)
		after.store.SetFrozenTime(true)
		after.store.SetNow((startMS - 50_000) * 1000) // even if the clock was set back
		m := &producerModel{t: t, f: f, rand: r, dbs: []map[string]*producedStream{{}, {}, {}}}
		for step := range 800 {
			m.step()
			m.check()
			for _, e := range f.store.TakeEffects() {
				for _, g := range []*fixture{along, after} {
					g.client(1).db = g.store.DB(e.DB)
					v := g.client(1).run(e.Args)
					require.NotEqual(t, "-", v.String()[:1], "%q: %s", e.Args, v)
				}
			}
			along.store.SetNow(f.nowMS * 1000)
			if step%testkit.Steps(8, 1) != 0 {
				continue
			}
			require.Equal(t, rememberedOf(f, 3), rememberedOf(along, 3))
		}
		after.store.SetFrozenTime(false)
		after.store.SetNow(f.nowMS * 1000)
		require.Equal(t, rememberedOf(f, 3), rememberedOf(after, 3))
	}
}

// TestProducersEffects: the effects of a message are the entry, then its producer and message ID. The first
// message also records the limits.
func TestProducersEffects(t *testing.T) {
	f := newFixture(t, StreamRows, KeyRows)
	l := f.store.Limits()
	l.Producers = stream.ProducerLimits{DurationS: 7, MaxSize: 8}
	f.store.SetLimits(l)
	want := func(effects []string, call ...string) {
		t.Helper()
		dirty := f.store.Dirty()
		f.do(call...)
		require.Equal(t, effects, f.effects(), "%q", call)
		require.Equal(t, effects != nil, f.store.Dirty() != dirty)
	}
	want([]string{"0 XADD s 1700000000000-0 f v", "0 XCFGSET s IDMP-DURATION 7 IDMP-MAXSIZE 8",
		"0 XIDMPRECORD s p m 1700000000000-0", "0 XTRIM s MAXLEN 0"}, "XADD", "s", "MAXLEN", "0", "IDMP", "p", "m", "*", "f", "v")
	want(nil, "XADD", "s", "MAXLEN", "0", "IDMP", "p", "m", "*", "f", "v")
	want(nil, "XCFGSET", "s", "IDMP-DURATION", "7")
	want([]string{"0 XCFGSET s IDMP-DURATION 7 IDMP-MAXSIZE 3"}, "XCFGSET", "s", "IDMP-MAXSIZE", "3")
	want([]string{"0 XADD s 1700000000009-5 f v"}, "XADD", "s", "1700000000009-5", "f", "v")
	want([]string{"0 XADD s 1700000000009-6 f v", "0 XIDMPRECORD s p m 1700000000009-6 TIME 1700000000000"},
		"XADD", "s", "IDMP", "p", "m", "*", "f", "v")
	f.advance(7000) // by the clock, not by the entry's ID, which is ahead of the clock
	want(nil, "XADD", "s", "IDMP", "p", "m", "*", "f", "v")
	f.advance(1)
	require.Empty(t, messagesOf(f.store.DB(0).Find([]byte("s")).Stream().Producers()), "forgotten without a look")
	want([]string{"0 XADD s 1700000007001-0 f v", "0 XIDMPRECORD s p m 1700000007001-0"}, "XADD", "s", "IDMP", "p", "m", "*", "f", "v")
}
