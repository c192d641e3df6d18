package inspect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
)

// soundHistory makes a random history of some locks without a fault, with writes of the holders. held lists
// the positions after which a lock is held exclusively: the index of the line, and the holder's grant.
func soundHistory(random *rand.Rand, lines int) (list []checkhistory.Line, held map[int]checkhistory.Line) {
	type holding struct{ grants []checkhistory.Line }
	locks, now, token := make(map[string]*holding), int64(1000), int64(10)
	held = make(map[int]checkhistory.Line)
	add := func(l checkhistory.Line) {
		l.ID, l.TimeMS = int64(len(list))+1, now
		list = append(list, l)
	}
	for len(list) < lines {
		now += 2 + random.Int64N(50)
		key := fmt.Sprint("k", random.IntN(3))
		of := locks[key]
		if of == nil {
			of = &holding{}
			locks[key] = of
		}
		free := len(of.grants) == 0
		shared := !free && of.grants[0].Mode == "shared"
		switch {
		case free || shared && random.IntN(2) == 0:
			token++
			l := checkhistory.Line{Event: "granted", Key: key, Owner: fmt.Sprint("o", token), Token: token, Mode: "exclusive"}
			if shared || random.IntN(3) == 0 {
				l.Mode = "shared"
			}
			add(l)
			of.grants = append(of.grants, list[len(list)-1])
		case random.IntN(3) == 0 && !shared:
			g := of.grants[0]
			list = append(list, checkhistory.Line{Event: checkhistory.Write, TimeMS: now, Key: key, Token: g.Token})
		default:
			i := random.IntN(len(of.grants))
			g := of.grants[i]
			g.Event = []string{"released", "expired", "forced"}[random.IntN(3)]
			add(g)
			of.grants = slices.Delete(of.grants, i, i+1)
		}
		for _, of := range locks {
			if len(of.grants) == 1 && of.grants[0].Mode == "exclusive" {
				held[len(list)-1] = of.grants[0]
			}
		}
	}
	return list, held
}

func checkLines(t *testing.T, lines []checkhistory.Line) *checkhistory.Report {
	t.Helper()
	var b strings.Builder
	for i := range lines {
		require.NoError(t, json.NewEncoder(&b).Encode(&lines[i]))
	}
	return checkText(t, 0, b.String())
}

// TestRandomHistoriesWithOneFault: the report finds no fault in a random sound history. After a grant to
// another owner or a write with an old token is inserted anywhere, the report names exactly that fault.
func TestRandomHistoriesWithOneFault(t *testing.T) {
	planted := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 42))
		lines, held := soundHistory(random, 5+random.IntN(60))
		r := checkLines(t, lines)
		require.True(t, r.OK(), "seed %d: %+v", seed, r)
		at := random.IntN(len(lines))
		holder, ok := held[at]
		if !ok {
			continue
		}
		planted++
		last := lines[len(lines)-1]
		grant := checkhistory.Line{ID: 1 << 30, Event: "granted", TimeMS: lines[at].TimeMS + 1, Key: holder.Key, Owner: "thief", Token: holder.Token, Mode: "exclusive"}
		grant.Token = 1 << 40 // the token rises, so that there is no second fault
		cut := slices.Clone(lines[:at+1])
		r = checkLines(t, append(cut, grant))
		require.Len(t, r.Overlaps, 1, "seed %d", seed)
		require.Equal(t, holder.Owner, r.Overlaps[0].First.Owner, "seed %d", seed)
		require.Equal(t, "thief", r.Overlaps[0].Second.Owner, "seed %d", seed)
		require.Empty(t, r.Fallen, "seed %d", seed)

		stale := checkhistory.Line{Event: checkhistory.Write, TimeMS: last.TimeMS + 1, Key: holder.Key, Token: holder.Token - 1}
		later := checkhistory.Line{Event: checkhistory.Write, TimeMS: last.TimeMS, Key: holder.Key, Token: 1 << 40}
		r = checkLines(t, append(slices.Clone(lines), later, stale))
		require.Len(t, r.StaleWrites, 1, "seed %d", seed)
		require.EqualValues(t, 1<<40, r.StaleWrites[0].Latest, "seed %d", seed)
	}
	require.Greater(t, planted, 50)
}
