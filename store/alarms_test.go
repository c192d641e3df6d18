package store

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestDueMS(t *testing.T) {
	for score, ms := range map[float64]int64{0: 0, -5: 0, 1: 1, 1.5: 2, 1 << 50: 1 << 50, math.Inf(1): farMS, math.Inf(-1): 0, 1e300: farMS} {
		require.Equal(t, ms, DueMS(score), score)
	}
}

// alarmsModel is a store, and the sets with alarms that it should have.
type alarmsModel struct {
	s     *Store
	kind  Alarm
	lists map[[2]string]map[string]int64 // by database and key: members and their times
}

// alarmKey returns the key of a set with an alarm.
func alarmKey(kind Alarm, name string) string {
	if kind == HoldAlarm {
		return HoldsPrefix + name
	}
	return DelayedPrefix + name + DelayedSuffix
}

func (m *alarmsModel) change(t *testing.T, r *rand.Rand) {
	db, key := r.IntN(3), alarmKey(m.kind, strconv.Itoa(r.IntN(3)))
	to, newKey := r.IntN(3), alarmKey(m.kind, strconv.Itoa(r.IntN(3)))
	if r.IntN(8) == 0 {
		newKey = "elsewhere"
	}
	at := func(db int, key string) [2]string { return [2]string{strconv.Itoa(db), key} }
	from, target := at(db, key), at(db, newKey)
	there := len(m.lists[from]) > 0
	switch r.IntN(16) {
	case 0:
		m.s.DB(db).Delete([]byte(key))
		delete(m.lists, from)
	case 1:
		m.s.DB(db).EditString([]byte(key)).Set([]byte("x"), NoTTL)
		m.s.DB(db).Delete([]byte(key))
		delete(m.lists, from)
	case 2:
		if there && key != newKey {
			m.s.DB(db).Rename([]byte(key), []byte(newKey))
			m.lists[target] = m.lists[from]
			delete(m.lists, from)
		}
	case 3:
		if there && db != to && len(m.lists[at(to, key)]) == 0 {
			require.True(t, m.s.DB(db).Move([]byte(key), m.s.DB(to)))
			m.lists[at(to, key)] = m.lists[from]
			delete(m.lists, from)
		}
	case 4:
		if there && key != newKey {
			m.s.DB(db).Copy([]byte(key), m.s.DB(db), []byte(newKey))
			m.lists[target] = map[string]int64{}
			for member, ms := range m.lists[from] {
				m.lists[target][member] = ms
			}
		}
	case 5:
		if r.IntN(4) == 0 {
			m.s.DB(db).Flush()
			for k := range m.lists {
				if k[0] == strconv.Itoa(db) {
					delete(m.lists, k)
				}
			}
		}
	case 6:
		m.s.SwapDB(m.s.DB(db), m.s.DB(to))
		swapped := map[[2]string]map[string]int64{}
		for k, list := range m.lists {
			switch k[0] {
			case strconv.Itoa(db):
				k[0] = strconv.Itoa(to)
			case strconv.Itoa(to):
				k[0] = strconv.Itoa(db)
			}
			swapped[k] = list
		}
		m.lists = swapped
	case 7:
		z, list := m.s.NewZSet(nil), map[string]int64{}
		for i := range r.IntN(4) {
			list[strconv.Itoa(i)] = m.s.NowMS() + r.Int64N(50)
			z.Set(m.s.limits.ZSet, []byte(strconv.Itoa(i)), float64(list[strconv.Itoa(i)]))
		}
		m.s.DB(db).ReplaceZSet([]byte(key), z.ZSet)
		m.lists[from] = list
	case 8, 9:
		member := strconv.Itoa(r.IntN(6))
		e := m.s.DB(db).EditZSet([]byte(key))
		e.Remove([]byte(member))
		delete(m.lists[from], member)
	default:
		member, ms := strconv.Itoa(r.IntN(6)), m.s.NowMS()+r.Int64N(50)
		e := m.s.DB(db).EditZSet([]byte(key))
		e.Set([]byte(member), float64(ms))
		if m.lists[from] == nil {
			m.lists[from] = map[string]int64{}
		}
		m.lists[from][member] = ms
	}
}

// due takes the due members from the store, and requires that they are those of the model.
func (m *alarmsModel) due(t *testing.T) {
	for {
		steps := 1 << 20
		db, key, ok := m.s.DueSet(m.kind, &steps)
		if !ok {
			break
		}
		list := m.lists[[2]string{strconv.Itoa(db.ID()), string(key)}]
		e := db.EditZSet(key)
		member, score := e.ZSet().At(0, nil)
		require.Equal(t, list[string(member)], DueMS(score))
		require.LessOrEqual(t, DueMS(score), m.s.NowMS())
		delete(list, string(member))
		e.Remove(member)
	}
	next := int64(math.MaxInt64)
	for k, list := range m.lists {
		for member, ms := range list {
			if k[1] == "elsewhere" {
				continue
			}
			require.Greater(t, ms, m.s.NowMS(), "%s of %s was not reported", member, k)
			next = min(next, ms)
		}
	}
	require.False(t, m.s.AlarmDue(m.kind))
	if at, ok := m.s.NextAlarmMS(m.kind); next < math.MaxInt64 {
		require.True(t, ok)
		require.LessOrEqual(t, at, next)
	}
}

// TestAlarmsFollowTheData: after any changes of the keys, each member is reported at its time.
func TestAlarmsFollowTheData(t *testing.T) {
	for kind := range Alarm(alarmKinds) {
		seed := testkit.Seed(t)
		r := rand.New(rand.NewPCG(seed, uint64(kind)))
		m := &alarmsModel{s: New(3, Limits{}), kind: kind, lists: map[[2]string]map[string]int64{}}
		now := int64(1_700_000_000_000)
		m.s.SetNow(now * 1000)
		for range testkit.Steps(8_000, 20_000) {
			m.change(t, r)
			if r.IntN(3) == 0 {
				now += r.Int64N(20)
				m.s.SetNow(now * 1000)
				m.due(t)
			}
		}
		m.s.FlushAll()
		require.Zero(t, m.s.alarms[kind].Len())
		for _, db := range m.s.dbs {
			require.Empty(t, db.space.alarms[kind])
		}
	}
}

func TestAlarmsThatArePutOff(t *testing.T) {
	for kind := range Alarm(alarmKinds) {
		putOff(t, kind)
	}
}

func putOff(t *testing.T, kind Alarm) {
	s := New(3, Limits{})
	s.SetNow(1_000_000)
	db, key := s.DB(0), []byte(alarmKey(kind, "x"))
	e := db.EditZSet(key)
	e.Set([]byte("a"), 1000)
	require.True(t, s.AlarmDue(kind))
	require.False(t, s.AlarmDue(1-kind), "each kind has a queue of its own")
	require.Equal(t, []string{string(key)}, db.Keys().AlarmSets(kind))
	steps := 10
	_, got, ok := s.DueSet(kind, &steps)
	require.True(t, ok)
	require.Equal(t, key, got)
	db.PutOff(key, 2000)
	_, _, ok = s.DueSet(kind, &steps)
	require.False(t, ok)
	s.SetNow(2_000_000)
	_, _, ok = s.DueSet(kind, &steps)
	require.True(t, ok)

	s.SetFrozenTime(true)
	require.False(t, s.AlarmDue(kind))
	_, _, ok = s.DueSet(kind, &steps)
	require.False(t, ok)
	s.SetFrozenTime(false)

	// A value that is no sorted set any more is reported once, without members.
	db.EditString(key).Set([]byte("x"), NoTTL)
	_, _, ok = s.DueSet(kind, &steps)
	require.False(t, ok)
	require.Zero(t, s.alarms[kind].Len())
}

// TestNamesOfAlarmSets has names of keys that look like those of sets with alarms, and are not.
func TestNamesOfAlarmSets(t *testing.T) {
	for key, kind := range map[string]Alarm{"seckill:holds:": HoldAlarm, "seckill:holds:v": HoldAlarm, "{}:delayed": DelayAlarm, "{a}:delayed": DelayAlarm,
		"{{a}b}:delayed": DelayAlarm} {
		got, ok := kindOfAlarm([]byte(key))
		require.True(t, ok, key)
		require.Equal(t, kind, got, key)
		require.Equal(t, kind == DelayAlarm, ofDelays([]byte(key)), key)
		require.Equal(t, kind == DelayAlarm, ofDelays([]byte(key+EntriesSuffix)), key)
		require.Equal(t, kind == DelayAlarm, ofDelays([]byte(key+RequestsSuffix)), key)
	}
	for _, key := range []string{"", "s", "{", "seckill:hold", "seckill:holdsx:v", "}:delayed", "x}:delayed", "{a:delayed", "{a}:delayed:entries", "{a}:delaye", "{a}:delayed "} {
		_, ok := kindOfAlarm([]byte(key))
		require.False(t, ok, key)
	}
}
