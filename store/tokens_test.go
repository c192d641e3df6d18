package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hash"
	"lockserver/tests/testkit"
)

// tokensOf walks the whole database for the expected result of EachToken, and counts the companions.
func tokensOf(db *DB) (tokens []string, companions int) {
	db.Keys().EachStored(func(key string, r Ref) bool {
		if IsCompanion([]byte(key)) {
			companions++
		}
		if db.space.live(r) && r.v.hasToken() {
			tokens = append(tokens, key)
		}
		return true
	})
	slices.Sort(tokens)
	return tokens, companions
}

func requireTokens(t *testing.T, s *Store) {
	t.Helper()
	for _, db := range s.dbs {
		want, companions := tokensOf(db)
		var got []string
		db.Keys().EachToken(func(key string, r LiveRef) bool {
			require.True(t, r.Hash().Has([]byte(TokenField)))
			got = append(got, key)
			return true
		})
		slices.Sort(got)
		require.Equal(t, want, got, "database %d", db.id)
		var inPieces, stocks, wantStocks []string
		for cursor := uint64(0); ; {
			cursor = db.Keys().TokensBelow(cursor, 3, func(key string, r LiveRef) { inPieces = append(inPieces, key) })
			if cursor == 0 {
				break
			}
		}
		slices.Sort(inPieces)
		require.Equal(t, want, inPieces)
		for cursor := uint64(0); ; {
			cursor = db.Keys().StocksBelow(cursor, 2, func(key string) { stocks = append(stocks, key) })
			if cursor == 0 {
				break
			}
		}
		db.Keys().EachStored(func(key string, r Ref) bool {
			if strings.HasPrefix(key, StockPrefix) && db.space.live(r) {
				wantStocks = append(wantStocks, key)
			}
			return true
		})
		require.ElementsMatch(t, wantStocks, stocks)
		require.Equal(t, companions, db.space.companions, "database %d", db.id)
		require.Equal(t, companions > 0, db.Keys().HasCompanions())
	}
}

func TestTokensFollowTheirKeys(t *testing.T) {
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	s := New(3, Limits{Hash: hash.Limits{Entries: 8, Value: 16}})
	now := int64(1_000_000)
	s.SetNow(now)
	key := func() []byte {
		if random.IntN(4) == 0 {
			return fmt.Appendf(nil, "redisson_lock_queue:{%d}", random.IntN(5))
		}
		if random.IntN(6) == 0 {
			return fmt.Appendf(nil, "seckill:stock:%d", random.IntN(9))
		}
		return fmt.Appendf(nil, "k%d", random.IntN(40))
	}
	for step := range 20_000 {
		db, k := s.DB(random.IntN(3)), key()
		switch random.IntN(12) {
		case 0, 1, 2:
			db.Delete(k)
			e := db.EditHash(k)
			e.SetInt([]byte("owner"), 1)
			e.SetInt([]byte(TokenField), 5)
			e.Expire(now/1000 + 1 + int64(random.IntN(50)))
		case 3:
			if e, ok := db.OpenHash(k); ok {
				e.Set([]byte("owner"), []byte("x"))
			}
		case 4:
			if e, ok := db.OpenHash(k); ok {
				e.Update([]byte(TokenField), []byte("7"))
			}
		case 5:
			if e, ok := db.OpenHash(k); ok {
				e.Delete([]byte(TokenField))
			}
		case 6:
			db.EditString(k).Set([]byte("v"), NoTTL)
		case 7:
			if db.Peek(k).OK() {
				db.Rename(k, append(key(), 'x'))
			}
		case 8:
			db.Move(k, s.DB(random.IntN(3)))
		case 9:
			if db.Peek(k).OK() {
				db.Copy(k, s.DB(random.IntN(3)), append(key(), 'c'))
			}
		case 10:
			db.Delete(k)
		case 11:
			switch random.IntN(60) {
			case 0:
				s.SwapDB(db, s.DB(random.IntN(3)))
			case 1:
				db.Flush()
			case 2:
				s.FlushAll()
			}
			now += 3000
			s.SetNow(now)
			s.ExpireDue(100)
		}
		if step%500 == 0 {
			requireTokens(t, s)
		}
	}
	requireTokens(t, s)
}

// TestPiecesMissNothingThatStays: a lock that stays is in one of the pieces, whatever keys come and go
// between them.
func TestPiecesMissNothingThatStays(t *testing.T) {
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		s := New(1, Limits{Hash: hash.Limits{Entries: 8, Value: 16}})
		s.SetNow(1_000_000)
		db := s.DB(0)
		lock := func(key string) {
			e := db.EditHash([]byte(key))
			e.SetInt([]byte(TokenField), 1)
		}
		missing := map[string]bool{}
		for i := range 60 {
			name := fmt.Sprint("passes", i)
			if random.IntN(2) == 0 {
				name = fmt.Sprint("stays", i)
				missing[name] = true
			}
			lock(name)
		}
		for cursor := uint64(0); ; {
			cursor = db.Keys().TokensBelow(cursor, 1+random.IntN(5), func(key string, _ LiveRef) { delete(missing, key) })
			if cursor == 0 {
				break
			}
			for range random.IntN(5) {
				db.Delete(fmt.Appendf(nil, "passes%d", random.IntN(60)))
			}
			if random.IntN(3) == 0 {
				lock(fmt.Sprint("new", random.IntN(9)))
			}
		}
		require.Empty(t, missing)
	}
}

func TestTokensOfALoadedHash(t *testing.T) {
	s := New(1, Limits{Hash: hash.Limits{Entries: 8, Value: 16}})
	s.SetNow(1_000_000)
	h := s.NewHash(nil)
	h.SetInt(s.Limits().Hash, []byte("owner"), 1)
	h.SetInt(s.Limits().Hash, []byte(TokenField), 9)
	require.True(t, s.DB(0).Loading().Hash([]byte("lock"), h.Hash, 0))
	require.True(t, s.DB(0).Loading().String([]byte("redisson_lock_token:{lock}"), []byte("3"), 0))
	requireTokens(t, s)
	require.Equal(t, 1, s.DB(0).Keys().Holders())
	require.True(t, s.DB(0).Keys().HasCompanions())
}

func TestLockRecordGoesWithTheDeadline(t *testing.T) {
	s := New(1, Limits{Hash: hash.Limits{Entries: 8, Value: 16}})
	s.SetNow(1_000_000)
	db := s.DB(0)
	e := db.EditHash([]byte("k"))
	e.SetInt([]byte("f"), 1)
	e.Expire(5000)
	e.SetLockRecord(42)
	require.EqualValues(t, 42, db.LockRecord([]byte("k")))
	e.Expire(6000)
	require.EqualValues(t, 42, db.LockRecord([]byte("k")))
	cut := s.Cut()
	db.Expire([]byte("k"), 7000) // the cut keeps its item
	require.EqualValues(t, 42, db.LockRecord([]byte("k")))
	cut.Release()
	db.Persist([]byte("k"))
	require.Zero(t, db.LockRecord([]byte("k")))
	require.Zero(t, db.LockRecord([]byte("other")))
}
