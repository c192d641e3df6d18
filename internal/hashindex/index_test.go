package hashindex

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

type thing struct {
	next *thing
	key  string
	hash uint32
}

func (e *thing) Link() **thing          { return &e.next }
func (e *thing) Hash() uint32           { return e.hash }
func (e *thing) HasKey(key []byte) bool { return e.key == string(key) }

type things = Index[thing, *thing]

// check fails unless the invariants hold.
func check(t *testing.T, x *things) {
	t.Helper()
	n := 0
	for chain := range x.chains {
		for e := *x.head(chain); e != nil; e = e.next {
			require.Equal(t, chain, x.chainOf(e.hash))
			n++
		}
	}
	require.Equal(t, n, x.n)
	require.LessOrEqual(t, n, int(x.chains))
	require.LessOrEqual(t, int(x.chains), max(1, 2*n))
	require.Len(t, x.segments, (int(x.chains)+segmentSize-1)/segmentSize)
	for chain := int(x.chains); chain < len(x.segments)*segmentSize; chain++ {
		require.Nil(t, *x.head(uint32(chain)), "chain %d is not in use", chain)
	}
}

// TestIndex makes random changes to an index and to a map, with good hashes and with colliding hashes.
func TestIndex(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	secret := maphash.MakeSeed()
	hashes := []func(key string) uint32{
		func(key string) uint32 { return uint32(maphash.String(secret, key)) },
		func(string) uint32 { return 0 },
		func(key string) uint32 { return uint32(len(key)) << 30 },
		func(key string) uint32 { return ^uint32(len(key)) },
	}
	for round := range 60 {
		hash := hashes[round%len(hashes)]
		var x things
		want := map[string]*thing{}
		keys := 1 + rng.IntN(1+rng.IntN(700))
		for step := range 3000 {
			key := fmt.Sprint(rng.IntN(keys))
			if step > 2000 || step%500 > 350 { // most entries are removed again
				key = fmt.Sprint(step % keys)
			}
			e := x.Find(hash(key), []byte(key))
			require.True(t, want[key] == e, "%q", key)
			switch {
			case e == nil && step <= 2000:
				e = &thing{key: key, hash: hash(key)}
				x.Add(e)
				want[key] = e
			case e != nil && (step > 2000 || rng.IntN(2) == 0):
				x.Remove(e)
				require.Nil(t, e.next)
				delete(want, key)
			}
			require.Equal(t, len(want), x.Len())
			if step%97 == 0 {
				check(t, &x)
			}
		}
		check(t, &x)
		seen := map[*thing]bool{}
		x.Each(func(e *thing) bool {
			require.False(t, seen[e])
			seen[e] = true
			return true
		})
		require.Len(t, seen, len(want))
		for key, e := range want {
			require.True(t, seen[e], "%q", key)
			x.Remove(e)
		}
		check(t, &x)
		x.Each(func(*thing) bool { t.Fatal("it is empty"); return true })
	}
}

// Each stops when the visitor asks it to.
func TestEachStops(t *testing.T) {
	var x things
	for i := range 100 {
		x.Add(&thing{key: fmt.Sprint(i), hash: uint32(i)})
	}
	seen := 0
	x.Each(func(*thing) bool { seen++; return seen < 7 })
	require.Equal(t, 7, seen)
}

// Adding and removing a single entry again and again allocates nothing.
func TestOneAtATime(t *testing.T) {
	var x things
	e := &thing{key: "k", hash: 12345}
	x.Add(e)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		x.Remove(e)
		x.Add(e)
	}))
	require.Same(t, e, x.Find(12345, []byte("k")))
}
