package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/tests/testkit"
)

// modelProducers models Producers as a slice, oldest first.
type modelProducers struct {
	limits   ProducerLimits
	messages []Message
}

func (m *modelProducers) remember(one Message) {
	same := func(o Message) bool { return o.Producer == one.Producer && o.Name == one.Name }
	m.messages = append(slices.DeleteFunc(m.messages, same), one)
	n := 0
	for _, o := range m.messages {
		if o.Producer == one.Producer {
			n++
		}
	}
	if n > m.limits.MaxSize {
		i := slices.IndexFunc(m.messages, func(o Message) bool { return o.Producer == one.Producer })
		m.messages = slices.Delete(m.messages, i, i+1)
	}
}

// forget removes the oldest message if it is overdue.
func (m *modelProducers) forget(nowMS int64) bool {
	best := -1
	for i, o := range m.messages {
		if o.AtMS+int64(m.limits.DurationS)*1000 <= nowMS && (best < 0 || o.AtMS < m.messages[best].AtMS) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	m.messages = slices.Delete(m.messages, best, best+1)
	return true
}

// checkProducers compares everything visible, and counts the sizes again.
func checkProducers(t *testing.T, p *Producers, m *modelProducers) {
	t.Helper()
	perProducer, bytes := map[string]int{}, 0
	for _, o := range m.messages {
		if perProducer[o.Producer] == 0 {
			bytes += len(o.Producer)
		}
		perProducer[o.Producer]++
		bytes += len(o.Name)
	}
	producers, messages := p.Tracked()
	require.Equal(t, len(perProducer), producers)
	require.Equal(t, len(m.messages), messages)
	require.Equal(t, producersBytes+bytes+producerBytes*producers+messageBytes*messages, p.Size())
	require.Equal(t, messages, treesOf(p).byTurn.Len())
	require.Equal(t, messages, treesOf(p).byAge.Len())
	got := map[string][]Message{}
	p.Each(func(o Message) bool {
		got[o.Producer] = append(got[o.Producer], o)
		return true
	})
	want := map[string][]Message{}
	for _, o := range m.messages {
		want[o.Producer] = append(want[o.Producer], o)
	}
	require.Equal(t, want, got)
}

// TestProducersModel adds random messages to a stream that cuts share. Time sometimes goes back.
func TestProducersModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var ep cow.Epoch
	s, m := New(&ep), &modelProducers{limits: ProducerLimits{DurationS: 1, MaxSize: 3}}
	require.Nil(t, s.Producers())
	require.True(t, s.LimitProducers(m.limits))
	nowMS, added := int64(5000), uint64(0)
	var views []*Stream
	var models []*modelProducers
	for i := range 4000 {
		if ep.Shared(s.Stamp()) {
			s = s.Clone()
		}
		p := s.Producers()
		switch n := r.IntN(20); {
		case n < 14:
			one := Message{Producer: fmt.Sprint("p", r.IntN(4)), Name: fmt.Sprint("message", r.IntN(12)), ID: ID{MS: uint64(i)}, AtMS: nowMS}
			id, ok := p.Find([]byte(one.Producer), []byte(one.Name), nowMS)
			at := slices.IndexFunc(m.messages, func(o Message) bool {
				return o.Producer == one.Producer && o.Name == one.Name && o.AtMS+int64(m.limits.DurationS)*1000 > nowMS
			})
			require.Equal(t, at >= 0, ok)
			if ok {
				require.Equal(t, m.messages[at].ID, id)
			}
			p.Added(one)
			m.remember(one)
			added++
		case n < 17:
			nowMS += int64(r.IntN(500))
			for end, ok := p.FirstEndMS(); ok && end <= nowMS; end, ok = p.FirstEndMS() {
				p.ForgetFirst()
				require.True(t, m.forget(nowMS))
			}
			require.False(t, m.forget(nowMS))
		case n == 17:
			nowMS -= int64(r.IntN(300))
		case n == 18 && r.IntN(10) == 0:
			l := ProducerLimits{DurationS: 1 + r.IntN(2), MaxSize: 1 + r.IntN(5)}
			same := l == m.limits
			require.Equal(t, !same, s.LimitProducers(l))
			if !same {
				m.limits, m.messages = l, nil
			}
		case n == 19 && len(views) < 5:
			ep.Cut()
			views = append(views, s)
			models = append(models, &modelProducers{limits: m.limits, messages: slices.Clone(m.messages)})
		}
		checkProducers(t, s.Producers(), m)
	}
	got, _ := s.Producers().Counts()
	require.Equal(t, added, got)
	s.Producers().SetAlarm("mine")
	require.Nil(t, s.Copy().Producers().Alarm())
	require.Equal(t, "mine", s.Clone().Producers().Alarm())
	checkProducers(t, s.Copy().Producers(), m)
	for i, v := range views {
		checkProducers(t, v.Producers(), models[i])
	}
}
