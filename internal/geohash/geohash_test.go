package geohash

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func newRand(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

func randomPoint(r *rand.Rand) Point {
	return Point{(r.Float64()*2 - 1) * LongitudeMax, (r.Float64()*2 - 1) * LatitudeMax}
}

// The example of Redis' documentation of GEOADD and GEOHASH.
func TestSicily(t *testing.T) {
	palermo, catania := Point{13.361389, 38.115556}, Point{15.087269, 37.502669}
	require.Equal(t, uint64(3479099956230698), Encode(palermo))
	require.Equal(t, uint64(3479447370796909), Encode(catania))
	require.Equal(t, "sqc8b49rny0", Text(Decode(3479099956230698)))
	require.Equal(t, "sqdtr74hyu0", Text(Decode(3479447370796909)))
	require.InDelta(t, 166274.1516, Distance(Decode(3479099956230698), Decode(3479447370796909)), 0.00005)
}

// A hash represents a point less than a metre away, and the order of hashes keeps cells together.
func TestRoundTrip(t *testing.T) {
	r := newRand(t)
	for range 20000 {
		p := randomPoint(r)
		hash := Encode(p)
		require.Less(t, hash, uint64(1)<<52)
		q := Decode(float64(hash))
		require.InDelta(t, p.Longitude, q.Longitude, 360.0/(1<<26))
		require.InDelta(t, p.Latitude, q.Latitude, 171.0/(1<<26))
		require.Equal(t, hash, Encode(q))
		step := uint(1 + r.IntN(26))
		c := encode(p, LatitudeMax, step)
		least, end := c.scores()
		require.True(t, least <= hash && hash < end)
		a := c.area()
		require.True(t, a.west <= p.Longitude && p.Longitude <= a.east && a.south <= p.Latitude && p.Latitude <= a.north)
	}
}

func TestNeighbours(t *testing.T) {
	r := newRand(t)
	for range 5000 {
		c := encode(randomPoint(r), LatitudeMax, uint(1+r.IntN(26)))
		x, y := gather(c.bits>>1), gather(c.bits)
		dx, dy := r.IntN(3)-1, r.IntN(3)-1
		n := c.move(dx, dy)
		mask := uint32(1)<<c.step - 1
		require.Equal(t, (x+uint32(dx))&mask, gather(n.bits>>1))
		require.Equal(t, (y+uint32(dy))&mask, gather(n.bits))
		require.Equal(t, c, n.move(-dx, -dy))
	}
	require.Equal(t, uint32(0xdeadbeef), gather(spread(0xdeadbeef)))
}

// A sorted set can contain any score. Every score decodes to some position.
func TestDecodeAnything(t *testing.T) {
	for _, score := range []float64{-1, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, -1e300, 1 << 52, 1 << 63, 1 << 64, 0.5} {
		require.True(t, Decode(score).Valid(), score)
	}
}

// The ranges of a shape contain every position within it, each exactly once, away from the poles.
func TestRangesCover(t *testing.T) {
	r := newRand(t)
	for range 3000 {
		s := Shape{Center: Point{r.Float64()*200 - 100, r.Float64()*120 - 60}, Unit: 1}
		size := math.Pow(10, r.Float64()*6)
		if s.Box = r.IntN(2) == 0; s.Box {
			s.Width, s.Height = size*r.Float64(), size*r.Float64()
		} else {
			s.Radius = size
		}
		ranges := s.Ranges()
		b := s.bounds()
		for range 20 {
			p := Point{b.west + r.Float64()*(b.east-b.west), b.south + r.Float64()*(b.north-b.south)}
			if !s.Within(p) || !p.Valid() {
				continue
			}
			hash, n := float64(Encode(p)), 0
			for _, x := range ranges {
				if x.Min <= hash && hash < x.Max {
					n++
				}
			}
			require.Equal(t, 1, n, "%+v %+v", s, p)
		}
	}
}

// bigSine computes the sine with 200 bits.
func bigSine(x float64) *big.Float {
	at := func(f float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(f) }
	term, total, x2 := at(x), at(x), at(x)
	x2.Mul(x2, x2)
	for n := 2.0; n < 60; n += 2 {
		term.Mul(term, x2)
		term.Quo(term, at(-n*(n+1)))
		total.Add(total, term)
	}
	return total
}

func TestSineIsRoundedCorrectly(t *testing.T) {
	r := newRand(t)
	for range 3000 {
		x := (r.Float64()*2 - 1) * 3.2 * math.Pow(10, -3*r.Float64())
		want, _ := bigSine(x).Float64()
		require.Equal(t, want, sin(x), x)
		require.InDelta(t, math.Cos(x), cos(x), 2e-16)
		require.InDelta(t, 1, sin(x)*sin(x)+cos(x)*cos(x), 4e-16)
	}
	require.Equal(t, 1.0, cos(0))
	require.Zero(t, sin(0))
}

// asin returns the number with the nearest sine: the sines of both neighbours are not nearer.
func TestAsinIsRoundedCorrectly(t *testing.T) {
	r := newRand(t)
	off := func(y, x float64) *big.Float {
		d := bigSine(y)
		d.Sub(d, new(big.Float).SetPrec(200).SetFloat64(x))
		return d.Abs(d)
	}
	for range 2000 {
		x := r.Float64()
		if r.IntN(3) == 0 {
			x = 1 - math.Pow(10, -15*r.Float64())
		}
		y := asin(x)
		for _, other := range []float64{math.Nextafter(y, 2), math.Nextafter(y, -1)} {
			require.LessOrEqual(t, off(y, x).Cmp(off(other, x)), 0, x)
		}
	}
	require.Equal(t, math.Pi/2, asin(1))
	require.Zero(t, asin(0))
	require.True(t, math.IsNaN(asin(1.5)))
}

func BenchmarkDistance(b *testing.B) {
	p, q := Point{13.361389, 38.115556}, Point{-15.087269, -37.502669}
	b.Run("exact", func(b *testing.B) {
		for b.Loop() {
			Distance(p, q)
		}
	})
	b.Run("rough", func(b *testing.B) {
		for b.Loop() {
			roughDistance(p, q)
		}
	})
}

// The ranges of a polygon contain every position within it exactly once, for any place and size of the
// polygon.
func TestPolygonRangesCover(t *testing.T) {
	chance := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		at := Point{chance.Float64()*360 - 180, chance.Float64()*170 - 85}
		size := math.Pow(10, chance.Float64()*6-4)
		vertices := make([]Point, 3+chance.IntN(6))
		for i := range vertices {
			vertices[i] = Point{clamp(at.Longitude+size*(chance.Float64()*2-1), 180), clamp(at.Latitude+size*(chance.Float64()*2-1), 85)}
		}
		s := Polygon(vertices)
		ranges := s.Ranges()
		for range 50 {
			p := Point{clamp(at.Longitude+size*(chance.Float64()*2-1), 180), clamp(at.Latitude+size*(chance.Float64()*2-1), 85)}
			score := float64(Encode(p))
			if p = Decode(score); !s.Within(p) {
				continue
			}
			in := 0
			for _, r := range ranges {
				if score >= r.Min && score < r.Max {
					in++
				}
			}
			require.Equal(t, 1, in, "%v in %v", p, vertices)
		}
	}
}
