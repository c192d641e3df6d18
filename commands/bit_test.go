package commands

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestBitScript(t *testing.T) {
	playScript(t, "testdata/bit.script", BitRows, StringRows, KeyRows)
}

// TestBitOpScript plays what Redis 8.2 documents.
func TestBitOpScript(t *testing.T) {
	playDocumented(t, "testdata/bit_op.script", BitRows, StringRows, KeyRows)
}

func newBits(t testing.TB) *fixture { return newFixture(t, BitRows, StringRows, KeyRows) }

func TestBitEffects(t *testing.T) {
	f := newBits(t)
	for _, c := range []struct {
		call    string
		effects []string
	}{
		{"SETBIT k 15 1", []string{"0 SETRANGE k 1 \x01"}},
		{"SETBIT k 9 1", []string{"0 SETRANGE k 1 A"}},
		{"SETBIT k 9 1", nil},
		{"SETBIT k 9 2", nil},
		{"GETBIT k 9", nil},
		{"BITCOUNT k", nil},
		{"BITPOS k 1", nil},
		{"BITFIELD k GET u8 0", nil},
		{"BITFIELD k SET u8 0 66", []string{"0 SETRANGE k 0 B"}},
		{"BITFIELD k SET u8 0 66 INCRBY u8 0 0", nil},
		{"BITFIELD k SET u8 20 52 INCRBY u8 0 1", []string{"0 SETRANGE k 3 \x00", "0 SETRANGE k 2 \x03@", "0 SETRANGE k 0 C"}},
		{"BITFIELD k OVERFLOW FAIL INCRBY u8 0 1000", nil},
		{"BITFIELD n OVERFLOW FAIL INCRBY u8 0 1000", []string{"0 SETRANGE n 0 \x00"}},
		{"SET a AB", []string{"0 SET a AB"}},
		{"BITOP OR d a", []string{"0 SET d AB"}},
		{"BITOP NOT d none", []string{"0 DEL d"}},
		{"BITOP NOT d none", nil},
	} {
		f.do(strings.Fields(c.call)...)
		require.Equal(t, c.effects, f.effects(), c.call)
	}
}

// TestBitsOverdue: an overdue key does not exist for these commands.
func TestBitsOverdue(t *testing.T) {
	for _, c := range []struct{ call, reply string }{
		{"GETBIT k 0", "0"}, {"BITCOUNT k", "0"}, {"BITPOS k 1", "-1"}, {"BITFIELD k GET u8 0", "[0]"}, {"SETBIT k 15 1", "0"},
		{"BITFIELD k INCRBY u8 0 1", "[1]"}, {"BITOP NOT d k", "0"}, {"BITOP OR k o", "1"},
	} {
		f := newBits(t)
		f.do("SET", "k", "\xff\xff\xff", "PX", "10")
		f.do("SET", "o", "\x01")
		f.nowMS += 11 // not f.advance, which would remove it
		f.store.SetNow(f.nowMS * 1000)
		f.want(c.reply, strings.Fields(c.call)...)
		require.Less(t, f.do("PTTL", "k").Int, int64(0), "%s has kept the deadline", c.call)
	}
}

// TestSetBitWritesInPlace sets one bit of a string of 100 MB: the string is not copied, and nothing is
// allocated.
func TestSetBitWritesInPlace(t *testing.T) {
	f := newBits(t)
	f.want("0", "SETBIT", "k", strconv.Itoa(20<<23-1), "1")
	f.want(strconv.Itoa(20<<20), "STRLEN", "k")
	for _, call := range []string{"SETBIT k 77 1", "GETBIT k 77", "SETBIT k 100000000 0"} {
		require.Zero(t, f.allocsOf(strings.Fields(call)...), call)
	}
	// The result of BITOP can be written to in place as well.
	f.want("20971520", "BITOP", "OR", "d", "k", "none")
	require.Zero(t, f.allocsOf("SETBIT", "d", "77", "1"))
}

// reference does BITFIELD's arithmetic with unlimited integers.
func reference(typ bitType, value, by int64, overflow string) (string, bool) {
	least, most := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(typ.bits))
	if typ.signed {
		most.Rsh(most, 1)
		least.Neg(most)
	}
	most.Sub(most, big.NewInt(1))
	sum := new(big.Int).Add(big.NewInt(value), big.NewInt(by))
	above, below := sum.Cmp(most) > 0, sum.Cmp(least) < 0
	if !above && !below {
		return sum.String(), true
	}
	switch {
	case overflow == "FAIL":
		return "", false
	case overflow == "SAT" && above:
		return most.String(), true
	case overflow == "SAT":
		return least.String(), true
	}
	width := new(big.Int).Lsh(big.NewInt(1), uint(typ.bits))
	sum.Sub(sum, least).Mod(sum, width).Add(sum, least)
	return sum.String(), true
}

func TestBitfieldArithmetic(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range testkit.Steps(6000, 20000) {
		typ := bitType{signed: r.IntN(2) == 0, bits: 1 + r.IntN(63)}
		if typ.signed && r.IntN(4) == 0 {
			typ.bits = 64
		}
		value := typ.wrap(r.Uint64())
		by := int64(r.Uint64()) >> r.IntN(64)
		if r.IntN(5) == 0 {
			by = []int64{math.MinInt64, math.MaxInt64, -1, 1}[r.IntN(4)]
		}
		overflow := []string{"WRAP", "SAT", "FAIL"}[r.IntN(3)]
		want, ok := reference(typ, value, by, overflow)
		got, gotOK := typ.add(value, by, overflow)
		require.Equal(t, ok, gotOK, "%+v %d + %d %s", typ, value, by, overflow)
		if ok {
			require.Equal(t, want, strconv.FormatInt(got, 10), "%+v %d + %d %s", typ, value, by, overflow)
		}
		// The written value is read back, and its neighbours are unchanged.
		b := make([]byte, 20)
		for i := range b {
			b[i] = byte(r.Uint64())
		}
		at := int64(r.IntN(20*8 - typ.bits + 1))
		before := bitsOf(b)
		writeBits(b, at, typ.bits, uint64(value))
		require.Equal(t, value, typ.read(b, at))
		after := bitsOf(b)
		require.Equal(t, before[:at]+before[at+int64(typ.bits):], after[:at]+after[at+int64(typ.bits):])
	}
}

func bitsOf(b []byte) string {
	var text strings.Builder
	for _, c := range b {
		fmt.Fprintf(&text, "%08b", c)
	}
	return text.String()
}

// TestBitSpans counts and finds bit by bit, on strings with mostly zeros, mostly ones, or both.
func TestBitSpans(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		b := make([]byte, 1+r.IntN(40))
		fill := []byte{0, 0xff, byte(r.Uint64())}[r.IntN(3)]
		for i := range b {
			b[i] = fill
		}
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		text := bitsOf(b)
		s := bitSpan{int64(r.IntN(len(text))), int64(r.IntN(len(text)))}
		part := ""
		if s.first <= s.last {
			part = text[s.first : s.last+1]
		}
		require.Equal(t, int64(strings.Count(part, "1")), countBits(b, s), "%s %+v", text, s)
		for bit := range byte(2) {
			want := int64(strings.IndexByte(part, '0'+bit))
			if want >= 0 {
				want += s.first
			}
			require.Equal(t, want, findBit(b, s, bit), "%s %+v", text, s)
		}
	}
}

// TestCombineBits compares combineBits with a computation bit by bit.
func TestCombineBits(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		ops := bitOperations()
		op := ops[r.IntN(len(ops))]
		n := op.least + r.IntN(4)
		if op.word == "NOT" {
			n = 1
		}
		var sources [][]byte
		longest := 0
		for range n {
			s := make([]byte, r.IntN(30))
			for i := range s {
				s[i] = byte(r.Uint64())
			}
			sources = append(sources, s)
			longest = max(longest, len(s))
		}
		result := combineBits(op, sources, longest)
		require.Len(t, result, longest)
		for i := range longest * 8 {
			ones, first := 0, false
			for j, s := range sources {
				set := i/8 < len(s) && s[i/8]>>(7-i%8)&1 == 1
				if set {
					ones++
				}
				if j == 0 {
					first = set
				}
			}
			others := ones
			if first {
				others--
			}
			var want bool
			switch op.word {
			case "AND":
				want = ones == n
			case "OR":
				want = ones > 0
			case "XOR":
				want = ones%2 == 1
			case "NOT":
				want = ones == 0
			case "ONE":
				want = ones == 1
			case "DIFF":
				want = first && others == 0
			case "DIFF1":
				want = !first && others > 0
			case "ANDOR":
				want = first && others > 0
			}
			if got := result[i/8]>>(7-i%8)&1 == 1; got != want {
				require.Equal(t, want, got, "%s of %x, bit %d", op.word, sources, i)
			}
		}
	}
}

func TestBitfieldKeys(t *testing.T) {
	table := NewTable(BitRows())
	for call, flags := range map[string]KeyFlags{
		"BITFIELD k GET u8 0": RO | Access, "BITFIELD k": RO | Access, "BITFIELD k OVERFLOW SAT GET u8 0": RO | Access,
		"BITFIELD k GET u8 0 SET u8 0 1": RW | Access | Update, "BITFIELD k INCRBY u8 0 1": RW | Access | Update,
	} {
		refs, err := table.KeyRefs(table.Lookup([]byte("bitfield")), words(strings.Fields(call)...), nil)
		require.NoError(t, err)
		require.Equal(t, []KeyRef{{1, flags}}, refs, call)
	}
}
