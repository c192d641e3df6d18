package commands

import (
	"math"
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/internal/geohash"
	"lockserver/internal/resp"
)

// A geo index is a sorted set with geohashes as scores.

// geoadd turns the positions into scores and calls ZADD's code.
func geoadd(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	var x scoreCall
	for a.More() {
		if a.IsNext("NX") {
			x.nx = true
		} else if a.IsNext("XX") {
			x.xx = true
		} else if a.IsNext("CH") {
			x.changes = true
		} else {
			break
		}
	}
	triples := a.Rest()
	if len(triples) == 0 || len(triples)%3 != 0 || x.nx && x.xx {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	scores := make([]float64, 0, len(triples)/3)
	for i := 0; i < len(triples); i += 3 {
		p, err := geoPoint(triples[i], triples[i+1])
		if err != nil {
			return err
		}
		scores = append(scores, float64(geohash.Encode(p)))
	}
	return x.apply(c, key, scores, triples, 3)
}

// geoPoint parses a position.
func geoPoint(longitude, latitude []byte) (p geohash.Point, err error) {
	x, ok1 := resp.ParseFloat(longitude)
	if !ok1 {
		return p, ErrNotFloat
	}
	y, ok2 := resp.ParseFloat(latitude)
	if !ok2 {
		return p, ErrNotFloat
	}
	if p = (geohash.Point{Longitude: x, Latitude: y}); !p.Valid() {
		return p, ErrGeoPoint(x, y)
	}
	return p, nil
}

// geoUnit returns the length in metres of the unit that a word names.
func geoUnit(word []byte) (metres float64, err error) {
	for _, u := range [...]struct {
		name   string
		metres float64
	}{{"m", 1}, {"km", 1000}, {"ft", 0.3048}, {"mi", 1609.34}} {
		if ascii.EqualFold(word, u.name) {
			return u.metres, nil
		}
	}
	return 0, ErrGeoUnit
}

func geodist(c *Ctx) error {
	unit := 1.0
	switch args := c.Argv; {
	case len(args) > 5:
		return ErrSyntax
	case len(args) == 5:
		var err error
		if unit, err = geoUnit(args[4]); err != nil {
			return err
		}
	}
	z, err := c.findZSet(c.Argv[1])
	if err != nil {
		return err
	}
	if z != nil {
		one, ok1 := z.Score(c.Argv[2])
		two, ok2 := z.Score(c.Argv[3])
		if ok1 && ok2 {
			writeDistance(c.Out, geohash.Distance(geohash.Decode(one), geohash.Decode(two))/unit)
			return nil
		}
	}
	c.Out.Null()
	return nil
}

func geohashText(c *Ctx) error {
	return eachPoint(c, func(p geohash.Point) { c.Out.BulkString(geohash.Text(p)) }, c.Out.Null)
}

func geopos(c *Ctx) error {
	return eachPoint(c, func(p geohash.Point) { writePoint(c.Out, p) }, c.Out.NullArray)
}

// eachPoint replies an array with an entry for each member: found writes it from the member's position, and
// missing writes it for an unknown member.
func eachPoint(c *Ctx, found func(p geohash.Point), missing func()) error {
	z, err := c.findZSet(c.Argv[1])
	if err != nil {
		return err
	}
	members := c.Argv[2:]
	c.Out.Array(len(members))
	for _, member := range members {
		if z != nil {
			if score, ok := z.Score(member); ok {
				found(geohash.Decode(score))
				continue
			}
		}
		missing()
	}
	return nil
}

// writeDistance writes a distance with four decimals.
func writeDistance(out *resp.Writer, d float64) {
	var space [48]byte
	out.Bulk(strconv.AppendFloat(space[:0], d, 'f', 4, 64))
}

// writePoint writes longitude and latitude with up to 17 decimals.
func writePoint(out *resp.Writer, p geohash.Point) {
	out.Array(2)
	writeDegrees(out, p.Longitude)
	writeDegrees(out, p.Latitude)
}

func writeDegrees(out *resp.Writer, degrees float64) {
	var space [48]byte
	text := append(space[:0], ',')
	text = strconv.AppendFloat(text, math.Abs(degrees), 'f', 17, 64)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	if degrees < 0 && string(text) != ",0" {
		text = append(text, 0)
		copy(text[2:], text[1:])
		text[1] = '-'
	}
	if out.Proto < 3 {
		out.Bulk(text[1:])
		return
	}
	out.Raw(append(text, "\r\n"...))
}
