package geohash

import (
	"math"
	"slices"
)

// Polygon returns the shape enclosed by straight lines, on a map of degrees, from each vertex to the next and
// from the last to the first. Its center is the direction of the mean of the vertices, taken as directions
// from the middle of the earth. The distances in Valkey's documentation are measured from there.
func Polygon(vertices []Point) Shape {
	s := Shape{Vertices: vertices, Unit: 1}
	first := vertices[0]
	s.frame = area{first.Longitude, first.Longitude, first.Latitude, first.Latitude}
	var x, y, z float64
	for _, v := range vertices {
		s.frame.west, s.frame.east = math.Min(s.frame.west, v.Longitude), math.Max(s.frame.east, v.Longitude)
		s.frame.south, s.frame.north = math.Min(s.frame.south, v.Latitude), math.Max(s.frame.north, v.Latitude)
		lon, lat := v.Longitude*degree, v.Latitude*degree
		x += float64(cos(lat) * cos(lon))
		y += float64(cos(lat) * sin(lon))
		z += sin(lat)
	}
	s.Center = Point{math.Atan2(y, x) / degree, math.Atan2(z, math.Hypot(x, y)) / degree}
	return s
}

// encloses reports whether a position is within the polygon: a line from the position to the east crosses an
// odd number of sides.
func (s *Shape) encloses(p Point) bool {
	if p.Longitude < s.frame.west || p.Longitude > s.frame.east || p.Latitude < s.frame.south || p.Latitude > s.frame.north {
		return false
	}
	inside := false
	a := s.Vertices[len(s.Vertices)-1]
	for _, b := range s.Vertices {
		if (a.Latitude > p.Latitude) != (b.Latitude > p.Latitude) {
			along := (p.Latitude - a.Latitude) / (b.Latitude - a.Latitude)
			if p.Longitude < a.Longitude+float64(along*(b.Longitude-a.Longitude)) {
				inside = !inside
			}
		}
		a = b
	}
	return inside
}

// polygonRanges returns the Ranges of a polygon: the cell of the center and the cells around it, of a size at
// which they cover the polygon.
func (s *Shape) polygonRanges() []Range {
	c := encode(s.Center, LatitudeMax, maxStep)
	for c.step > 1 && s.outgrows(c, s.frame) {
		c = encode(s.Center, LatitudeMax, c.step-1)
	}
	var ranges []Range
	var cells []cell
	for dx := -1; dx <= 1; dx++ {
		for dy := -1; dy <= 1; dy++ {
			n := c.move(dx, dy)
			at := n.area()
			apart := at.west > s.frame.east || at.east < s.frame.west || at.south > s.frame.north || at.north < s.frame.south
			if apart || slices.Contains(cells, n) {
				continue
			}
			least, end := n.scores()
			cells, ranges = append(cells, n), append(ranges, Range{float64(least), float64(end)})
		}
	}
	return ranges
}
