// Package geohash turns positions into numbers that are close for close positions, and finds the ranges of
// numbers that cover an area. Geo indexes in sorted sets use these numbers as scores.
//
// A hash halves the longitudes and the latitudes in turn, 26 times each: 52 bits, which a floating point
// score holds exactly. The range of latitudes is that of Web Mercator, as in Redis, and the scores are those
// of Redis. Text gives the standard geohash. The arithmetic follows Redis step by step, because clients see
// its last digits: products are rounded before they are added, so that no machine fuses the two.
//
// It knows nothing of keys, members or units: distances are metres, angles degrees. To add a shape, give it
// bounds and a test for a point (Shape).
//
// Sources: G. Niemeyer's geohash; Redis' geo.c, geohash.c and geohash_helper.c for
// ranges, steps and the sphere.
package geohash

import "math"

// The limits of positions.
const (
	LongitudeMax = 180.0
	LatitudeMax  = 85.05112878

	maxStep = 26
)

// Point is a position in degrees.
type Point struct{ Longitude, Latitude float64 }

// Valid reports whether a position can be hashed.
func (p Point) Valid() bool {
	return p.Longitude >= -LongitudeMax && p.Longitude <= LongitudeMax &&
		p.Latitude >= -LatitudeMax && p.Latitude <= LatitudeMax
}

// cell is a rectangle of the map that has been halved step times in each direction.
type cell struct {
	bits uint64
	step uint
}

// area is the rectangle of a cell.
type area struct{ west, east, south, north float64 }

// Encode returns the hash of a valid position.
func Encode(p Point) uint64 { return encode(p, LatitudeMax, maxStep).bits }

// encode finds the cell of a position; latitudes reach from -latitudeMax to latitudeMax. A position on the
// upper edge gets one bit more than other positions.
func encode(p Point, latitudeMax float64, step uint) cell {
	y := (p.Latitude + latitudeMax) / (2 * latitudeMax)
	x := (p.Longitude + LongitudeMax) / (2 * LongitudeMax)
	scale := float64(uint64(1) << step)
	return cell{spread(uint32(y*scale)) | spread(uint32(x*scale))<<1, step}
}

// Decode returns the middle of the cell that a score represents. It accepts any score, because a client may
// have set it by hand.
func Decode(score float64) Point {
	a := cell{truncate(score), maxStep}.area()
	return Point{
		clamp((a.west+a.east)/2, LongitudeMax),
		clamp((a.south+a.north)/2, LatitudeMax),
	}
}

// truncate converts to an unsigned integer as processors do it, including negative and huge numbers.
func truncate(f float64) uint64 {
	if f < 1<<63 {
		return uint64(int64(f))
	}
	return uint64(int64(f-1<<63)) ^ 1<<63
}

func clamp(x, most float64) float64 { return math.Max(-most, math.Min(most, x)) }

func (c cell) area() area {
	y, x := gather(c.bits), gather(c.bits>>1)
	scale := float64(uint64(1) << c.step)
	at := func(n uint32, most float64) float64 { return -most + float64(float64(n)/scale*(2*most)) }
	return area{at(x, LongitudeMax), at(x+1, LongitudeMax), at(y, LatitudeMax), at(y+1, LatitudeMax)}
}

// spread moves the bits of x to the even positions.
func spread(x uint32) uint64 {
	n := uint64(x)
	n = (n | n<<16) & 0x0000ffff0000ffff
	n = (n | n<<8) & 0x00ff00ff00ff00ff
	n = (n | n<<4) & 0x0f0f0f0f0f0f0f0f
	n = (n | n<<2) & 0x3333333333333333
	return (n | n<<1) & 0x5555555555555555
}

// gather is the opposite of spread. It ignores the bits at odd positions.
func gather(n uint64) uint32 {
	n &= 0x5555555555555555
	n = (n | n>>1) & 0x3333333333333333
	n = (n | n>>2) & 0x0f0f0f0f0f0f0f0f
	n = (n | n>>4) & 0x00ff00ff00ff00ff
	n = (n | n>>8) & 0x0000ffff0000ffff
	return uint32(n | n>>16)
}

const (
	evenBits = 0x5555555555555555 // the bits of latitudes
	oddBits  = 0xaaaaaaaaaaaaaaaa // the bits of longitudes
)

// move returns the cell dx cells to the east and dy cells to the north. Both are -1, 0 or 1. The world has no
// edges.
func (c cell) move(dx, dy int) cell {
	shift := 64 - 2*c.step
	c.bits = slide(c.bits, oddBits, evenBits>>shift, oddBits>>shift, dx)
	c.bits = slide(c.bits, evenBits, oddBits>>shift, evenBits>>shift, dy)
	return c
}

// slide adds d to the number in the bits of own. others are the bits between them.
func slide(bits, own, others, within uint64, d int) uint64 {
	n, rest := bits&own, bits&^own
	switch d {
	case 1:
		n += others + 1
	case -1:
		n = (n | others) - (others + 1)
	default:
		return bits
	}
	return n&within | rest
}

// scores returns the range of scores of the positions within a cell, without the upper end.
func (c cell) scores() (least, end uint64) {
	shift := 2*maxStep - 2*c.step
	return c.bits << shift, (c.bits + 1) << shift
}

// alphabet is the base 32 alphabet of geohashes.
const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// Text returns the usual geohash of a position: 11 letters. The last letter is always 0, as in Redis.
func Text(p Point) string {
	bits := encode(p, 90, maxStep).bits
	text := []byte("00000000000")
	for i := range 10 {
		text[i] = alphabet[bits>>(52-5*(i+1))&31]
	}
	return string(text)
}
