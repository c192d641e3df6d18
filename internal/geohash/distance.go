package geohash

import "math"

const (
	earthRadius = 6372797.560856 // metres
	// mercatorMax is half of the equator's length on the map, in metres.
	mercatorMax = 20037726.37
	degree      = math.Pi / 180
)

// Distance returns the length of the great circle between two positions, in metres, by the haversine formula.
func Distance(a, b Point) float64 { return haversine(a, b, sin, cos, asin) }

// roughDistance returns the distance up to some units in the last place. It is for callers that only compare
// with a limit.
func roughDistance(a, b Point) float64 { return haversine(a, b, math.Sin, math.Cos, math.Asin) }

func haversine(a, b Point, sin, cos, asin func(float64) float64) float64 {
	lat1, lat2 := a.Latitude*degree, b.Latitude*degree
	u := sin((lat2 - lat1) / 2)
	v := sin((b.Longitude*degree - a.Longitude*degree) / 2)
	return 2 * earthRadius * asin(math.Sqrt(float64(u*u)+float64(float64(float64(cos(lat1)*cos(lat2))*v)*v)))
}

// Shape is an area around a position: a circle, or, with Radius 0 and a Width or Height, a box, or a Polygon.
// All lengths are in metres.
type Shape struct {
	Center Point
	Box    bool
	Radius float64
	Width  float64
	Height float64
	// Vertices are the vertices of a polygon, and frame is the rectangle around them.
	Vertices []Point
	frame    area
	// Unit is the factor that converts the lengths above to metres.
	Unit float64
}

// Within reports whether a position is in the shape.
func (s *Shape) Within(p Point) bool {
	if s.Vertices != nil {
		return s.encloses(p)
	}
	if !s.Box {
		return !(roughDistance(s.Center, p) > s.Radius*s.Unit)
	}
	lon := roughDistance(p, Point{s.Center.Longitude, p.Latitude})
	lat := roughDistance(p, Point{p.Longitude, s.Center.Latitude})
	return !(lon > s.Width*s.Unit/2 || lat > s.Height*s.Unit/2)
}

// bounds returns a rectangle of degrees around the shape. Near the poles it is only roughly right, as in
// Redis.
func (s *Shape) bounds() area {
	height, width := s.Unit*s.Radius, s.Unit*s.Radius
	if s.Box {
		height, width = s.Unit*(s.Height/2), s.Unit*(s.Width/2)
	}
	lat := s.Center.Latitude
	dLat := height / earthRadius / degree
	edge := lat + dLat
	if lat < 0 {
		edge = lat - dLat
	}
	dLon := width / earthRadius / math.Cos(edge*degree) / degree
	return area{s.Center.Longitude - dLon, s.Center.Longitude + dLon, lat - dLat, lat + dLat}
}

// reach returns the distance from the center to the farthest point.
func (s *Shape) reach() float64 {
	if !s.Box {
		return s.Radius * s.Unit
	}
	return math.Sqrt(float64(s.Width/2*(s.Width/2))+float64(s.Height/2*(s.Height/2))) * s.Unit
}

// Range is a range of scores from Min on, Max excluded.
type Range struct{ Min, Max float64 }

// Ranges returns the ranges of scores that cover the shape, with the range of the center first, in Redis'
// order.
func (s *Shape) Ranges() []Range {
	if s.Vertices != nil {
		return s.polygonRanges()
	}
	bounds := s.bounds()
	c := encode(s.Center, LatitudeMax, s.step())
	if c.step > 1 && s.outgrows(c, bounds) {
		c = encode(s.Center, LatitudeMax, c.step-1)
	}
	middle := c.area()
	var ranges []Range
	var last cell
	for _, d := range [9][2]int{{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}} {
		dx, dy := d[0], d[1]
		if c.step >= 2 && (dy < 0 && middle.south < bounds.south || dy > 0 && middle.north > bounds.north ||
			dx < 0 && middle.west < bounds.west || dx > 0 && middle.east > bounds.east) {
			continue
		}
		n := c.move(dx, dy)
		// Two neighbours of a large cell may be the same cell. Only a neighbour counts as the previous cell,
		// not the center.
		if last.step != 0 && n == last {
			continue
		}
		least, end := n.scores()
		ranges = append(ranges, Range{float64(least), float64(end)})
		if dx != 0 || dy != 0 {
			last = n
		}
	}
	return ranges
}

// step returns how often the world is halved until a cell is about as large as the shape.
func (s *Shape) step() uint {
	metres := s.reach()
	if metres == 0 {
		return maxStep
	}
	step := 1
	for ; metres < mercatorMax; step++ {
		metres *= 2
	}
	step -= 2
	if lat := math.Abs(s.Center.Latitude); lat > 80 {
		step -= 2
	} else if lat > 66 {
		step--
	}
	return uint(max(1, min(maxStep, step)))
}

// outgrows reports whether the shape reaches beyond the neighbours of a cell.
func (s *Shape) outgrows(c cell, bounds area) bool {
	return c.move(0, 1).area().north < bounds.north || c.move(0, -1).area().south > bounds.south ||
		c.move(1, 0).area().east < bounds.east || c.move(-1, 0).area().west > bounds.west
}
