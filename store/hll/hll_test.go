package hll

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func newRand(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// hashing returns an element of 8 bytes with a given hash: it inverts murmur64A.
func hashing(h uint64) []byte {
	m := uint64(0xc6a4a7935bd1e995)
	inverse := m // the inverse of m modulo 2^64, by Newton's iteration
	for range 6 {
		inverse *= 2 - m*inverse
	}
	h ^= h >> 47
	h *= inverse
	h ^= h >> 47
	k := h*inverse ^ hashSeed ^ 8*m
	k *= inverse
	k ^= k >> 47
	k *= inverse
	return binary.LittleEndian.AppendUint64(nil, k)
}

// withRank returns an element for a register with a rank from 1 to 51.
func withRank(index int, rank uint8) []byte {
	return hashing(uint64(index) | 1<<(precision+rank-1))
}

func TestPlace(t *testing.T) {
	for rank := uint8(1); rank <= rankBits+1; rank++ {
		h := uint64(77)
		if rank <= rankBits {
			h |= 1 << (precision + rank - 1)
		}
		index, got := place(hashing(h))
		require.Equal(t, 77, index)
		require.Equal(t, rank, got)
	}
}

// registersOf decodes b, and checks its invariants.
func registersOf(t testing.TB, b []byte) *Registers {
	t.Helper()
	require.True(t, Valid(b))
	var r Registers
	require.NoError(t, r.Merge(b))
	d, err := ToDense(b)
	require.NoError(t, err)
	var same Registers
	require.NoError(t, same.Merge(d))
	require.Equal(t, &r, &same)
	n, err := Count(b)
	require.NoError(t, err)
	require.Equal(t, r.Count(), n)
	return &r
}

// TestAgainstRegisters: sparse values, and the dense values that they become, have the content of an array of
// registers. Ranks are chosen so that there are long runs of equal registers, and some above 32.
func TestAgainstRegisters(t *testing.T) {
	rng := newRand(t)
	for round := range 60 {
		lim := Limits{SparseBytes: []int{0, 60, 300, 3000}[round%4]}
		spread := []int{20, 300, registerCount}[round%3]
		b, want := New(), Registers{}
		for range 1 + rng.IntN(2500) {
			index, rank := rng.IntN(spread), uint8(1+rng.IntN(3))
			switch rng.IntN(50) {
			case 0:
				rank = uint8(1 + rng.IntN(32))
			case 1:
				index = rng.IntN(registerCount)
			case 2:
				if round%7 == 0 {
					rank = uint8(33 + rng.IntN(18))
				}
			}
			var changed bool
			var err error
			b, changed, err = Add(lim, b, withRank(index, rank))
			require.NoError(t, err)
			require.Equal(t, want[index] < rank, changed)
			want[index] = max(want[index], rank)
			if IsSparse(b) {
				require.LessOrEqual(t, len(b), max(lim.SparseBytes, headerSize+2))
				require.LessOrEqual(t, rank, uint8(maxValue))
			}
		}
		require.Equal(t, &want, registersOf(t, b))
		var err error
		copied, err := want.Store(lim, New())
		require.NoError(t, err)
		require.Equal(t, &want, registersOf(t, copied))
	}
}

func TestRegisterAboveTheSparseOnes(t *testing.T) {
	b, changed, err := Add(DefaultLimits(), New(), withRank(5, maxValue))
	require.NoError(t, err)
	require.True(t, changed)
	require.True(t, IsSparse(b))
	require.Equal(t, fmt.Sprintf("z:5 v:32,1 Z:%d", registerCount-6), Describe(b))
	b, changed, err = Add(DefaultLimits(), b, withRank(5, maxValue+1))
	require.NoError(t, err)
	require.True(t, changed)
	require.False(t, IsSparse(b))
}

func TestCache(t *testing.T) {
	b := New()
	n, ok := Cached(b)
	require.True(t, ok)
	require.Zero(t, n)
	Invalidate(b)
	_, ok = Cached(b)
	require.False(t, ok)
	text := EncodeCache(123456)
	copy(b[CacheAt:], text[:])
	n, ok = Cached(b)
	require.True(t, ok)
	require.Equal(t, uint64(123456), n)
}

func TestSelfTestPasses(t *testing.T) { require.NoError(t, SelfTest(newRand(t).Uint64)) }

// TestSelfTestSeesABadHash: a source that always returns the same number gives the registers one value, and
// the estimates are still right.
func TestSelfTestSeesABadHash(t *testing.T) {
	b := New()
	for i := range 1000 {
		var err error
		b, _, err = Add(DefaultLimits(), b, withRank(i%registerCount, 1))
		require.NoError(t, err)
	}
	n, err := Count(b)
	require.NoError(t, err)
	require.Less(t, n, uint64(1100))
	require.Greater(t, n, uint64(900))
}

// FuzzBytes: with a valid header and any bytes after it, nothing panics, and a value without an error covers
// all registers.
func FuzzBytes(f *testing.F) {
	f.Add(New(), []byte("a"))
	b := New()
	for i := range 200 {
		b, _, _ = Add(DefaultLimits(), b, fmt.Append(nil, i))
	}
	f.Add(b, []byte("x"))
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f"), []byte("a"))
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xfb\x80\x80\x81"), []byte("a"))
	f.Fuzz(func(t *testing.T, b, element []byte) {
		if !Valid(b) {
			return
		}
		Describe(b)
		var r Registers
		mergeErr := r.Merge(b)
		_, countErr := Count(b)
		_, denseErr := ToDense(b)
		require.Equal(t, mergeErr, countErr)
		require.Equal(t, mergeErr, denseErr)
		added, _, err := Add(DefaultLimits(), b, element)
		if mergeErr == nil {
			require.NoError(t, err)
			registersOf(t, added)
		}
	})
}

// TestMergeOfASmallOneIsCheap: the cost of a sparse value with few registers depends on its opcodes, and not
// on the registers that are 0.
func TestMergeOfASmallOneIsCheap(t *testing.T) {
	small, _, err := Add(DefaultLimits(), New(), []byte("a"))
	require.NoError(t, err)
	require.True(t, IsSparse(small))
	opcodes, registers := 0, 0
	require.NoError(t, eachRun(small, func(int, int, uint8) { opcodes++ }))
	require.NoError(t, eachSetRun(small, func(_, n int, _ uint8) { registers += n }))
	require.LessOrEqual(t, opcodes, 3, "zeros, a register, zeros")
	require.Equal(t, 1, registers, "Merge looks at no other")
}
