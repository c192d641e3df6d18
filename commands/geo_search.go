package commands

import (
	"cmp"
	"slices"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/geohash"
	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
	"lockserver/store/zset"
	"strings"
)

// geoSearch is a call of GEOSEARCH, GEOSEARCHSTORE, GEORADIUS or GEORADIUSBYMEMBER.
type geoSearch struct {
	c     *Ctx
	z     *zset.ZSet // nil if the key does not exist
	shape geohash.Shape
	older bool // GEORADIUS or GEORADIUSBYMEMBER: center and radius are no options

	fromMember, fromPoint, byRadius, byBox, byPolygon bool
	withDist, withHash, withCoord                     bool

	order string // ASC, DESC or empty
	count int64  // 0 means all
	any   bool   // count members are enough, not necessarily the nearest

	// storeKey is the key for the result, or nil if the result is replied. With storeDist its scores are the
	// distances.
	storeKey  []byte
	storeDist bool
}

func geosearch(c *Ctx) error {
	s, err := newGeoSearch(c, c.Argv[1])
	if err != nil {
		return err
	}
	return s.run(c.Argv[2:], s.searchOption)
}

func geosearchstore(c *Ctx) error {
	s, err := newGeoSearch(c, c.Argv[2])
	if err != nil {
		return err
	}
	s.storeKey = c.Argv[1]
	return s.run(c.Argv[3:], s.searchOption)
}

// georadius also runs GEORADIUS_RO: the row of that command does not declare STORE.
func georadius(c *Ctx) error {
	s, err := newGeoSearch(c, c.Argv[1])
	if err != nil {
		return err
	}
	s.older = true
	if err := s.readPoint(c.Argv[2:4]); err != nil {
		return err
	}
	if err := s.readRadius(c.Argv[4:6]); err != nil {
		return err
	}
	return s.run(c.Argv[6:], s.storeOption)
}

// georadiusbymember does not check the radius if the key does not exist.
func georadiusbymember(c *Ctx) error {
	s, err := newGeoSearch(c, c.Argv[1])
	if err != nil {
		return err
	}
	s.older = true
	if s.z != nil {
		if err := s.readMember(c.Argv[2]); err != nil {
			return err
		}
		if err := s.readRadius(c.Argv[3:5]); err != nil {
			return err
		}
	}
	return s.run(c.Argv[5:], s.storeOption)
}

func newGeoSearch(c *Ctx, key []byte) (*geoSearch, error) {
	z, err := c.findZSet(key)
	return &geoSearch{c: c, z: z}, err
}

func (s *geoSearch) readPoint(args [][]byte) (err error) {
	s.shape.Center, err = geoPoint(args[0], args[1])
	s.fromPoint = err == nil
	return err
}

// readMember sets the center to the position of a member. If the key does not exist the center does not
// matter, because nothing will be found.
func (s *geoSearch) readMember(member []byte) error {
	s.fromMember = true
	if s.z == nil {
		return nil
	}
	score, ok := s.z.Score(member)
	if !ok {
		return ErrGeoMember
	}
	s.shape.Center = geohash.Decode(score)
	return nil
}

func (s *geoSearch) readRadius(args [][]byte) (err error) {
	radius, ok := resp.ParseFloat(args[0])
	switch {
	case !ok:
		return ErrGeoRadius
	case radius < 0:
		return ErrGeoRadiusSign
	}
	s.shape.Radius, s.byRadius = radius, true
	s.shape.Unit, err = geoUnit(args[1])
	return err
}

func (s *geoSearch) readBox(args [][]byte) (err error) {
	width, ok := resp.ParseFloat(args[0])
	if !ok {
		return ErrGeoWidth
	}
	height, ok := resp.ParseFloat(args[1])
	if !ok {
		return ErrGeoHeight
	}
	if width < 0 || height < 0 {
		return ErrGeoBoxSign
	}
	s.shape.Width, s.shape.Height = width, height
	s.shape.Box, s.byBox = true, true
	s.shape.Unit, err = geoUnit(args[2])
	return err
}

// readPolygon reads the number of vertices and their positions, and returns the number of words it read.
func (s *geoSearch) readPolygon(args [][]byte) (n int, err error) {
	count, ok := decimal.ParseInt(args[0])
	switch {
	case !ok:
		return 0, ErrNotInteger
	case count < 3:
		return 0, ErrGeoVertices
	case count > int64(len(args)-1)/2:
		return 0, ErrSyntax
	}
	vertices := make([]geohash.Point, count)
	for i := range vertices {
		if vertices[i], err = geoPoint(args[1+2*i], args[2+2*i]); err != nil {
			return 0, err
		}
	}
	s.shape, s.byPolygon = geohash.Polygon(vertices), true
	return 1 + 2*int(count), nil
}

// run reads the options and replies. own reads the options that only some of the commands have.
func (s *geoSearch) run(args [][]byte, own func(word []byte, rest [][]byte) (n int, err error)) error {
	for len(args) > 0 {
		n, err := s.option(args[0], args[1:])
		if n == 0 && err == nil {
			n, err = own(args[0], args[1:])
		}
		switch {
		case err != nil:
			return err
		case n == 0:
			return ErrSyntax
		}
		args = args[n:]
	}
	if err := s.check(); err != nil {
		return err
	}
	found := s.find()
	if s.storeKey != nil {
		s.store(found)
	} else {
		s.reply(found)
	}
	return nil
}

// option reads an option that all of the commands have, and returns the number of words it read. 0 means that
// the word is not such an option.
func (s *geoSearch) option(word []byte, rest [][]byte) (n int, err error) {
	switch {
	case ascii.EqualFold(word, "WITHDIST"):
		s.withDist = true
	case ascii.EqualFold(word, "WITHHASH"):
		s.withHash = true
	case ascii.EqualFold(word, "WITHCOORD"):
		s.withCoord = true
	case ascii.EqualFold(word, "ANY"):
		s.any = true
	case ascii.EqualFold(word, "ASC"), ascii.EqualFold(word, "DESC"):
		s.order = strings.ToUpper(string(word))
	case ascii.EqualFold(word, "COUNT") && len(rest) >= 1:
		count, ok := decimal.ParseInt(rest[0])
		switch {
		case !ok:
			return 0, ErrNotInteger
		case count <= 0:
			return 0, ErrGeoCount
		}
		s.count = count
		return 2, nil
	default:
		return 0, nil
	}
	return 1, nil
}

// storeOption reads an option of GEORADIUS and GEORADIUSBYMEMBER.
func (s *geoSearch) storeOption(word []byte, rest [][]byte) (n int, err error) {
	dist := ascii.EqualFold(word, "STOREDIST")
	if len(rest) == 0 || s.c.Row.Flags.Has(ReadOnly) || !dist && !ascii.EqualFold(word, "STORE") {
		return 0, nil
	}
	s.storeKey, s.storeDist = rest[0], dist
	return 2, nil
}

// searchOption reads an option of GEOSEARCH and GEOSEARCHSTORE.
func (s *geoSearch) searchOption(word []byte, rest [][]byte) (n int, err error) {
	switch {
	case s.byPolygon && !ascii.EqualFold(word, "STOREDIST"): // the polygon is the shape and has the center
		return 0, nil
	case ascii.EqualFold(word, "BYPOLYGON") && len(rest) >= 1 && !s.fromMember && !s.fromPoint && !s.byRadius && !s.byBox:
		n, err = s.readPolygon(rest)
		return 1 + n, err
	case ascii.EqualFold(word, "FROMMEMBER") && len(rest) >= 1 && !s.fromPoint:
		return 2, s.readMember(rest[0])
	case ascii.EqualFold(word, "FROMLONLAT") && len(rest) >= 2 && !s.fromMember:
		return 3, s.readPoint(rest[:2])
	case ascii.EqualFold(word, "BYRADIUS") && len(rest) >= 2 && !s.byBox:
		return 3, s.readRadius(rest[:2])
	case ascii.EqualFold(word, "BYBOX") && len(rest) >= 3 && !s.byRadius:
		return 4, s.readBox(rest[:3])
	case ascii.EqualFold(word, "STOREDIST") && s.storeKey != nil:
		s.storeDist = true
		return 1, nil
	}
	return 0, nil
}

// check validates the combination of the options.
func (s *geoSearch) check() error {
	name := s.c.Argv[0]
	switch {
	case s.storeKey != nil && (s.withDist || s.withHash || s.withCoord):
		if s.older {
			return ErrGeoRadiusStoreWith
		}
		return ErrGeoSearchStoreWith
	case s.byPolygon || s.older:
	case !s.fromMember && !s.fromPoint:
		return ErrGeoExactlyOne("FROMMEMBER or FROMLONLAT", name)
	case !s.byRadius && !s.byBox:
		return ErrGeoExactlyOne("BYRADIUS and BYBOX", name)
	}
	if s.any && s.count == 0 {
		return ErrGeoAny
	}
	if s.count != 0 && s.order == "" && !s.any {
		s.order = "ASC"
	}
	return nil
}

// geoHit is a member within the shape.
type geoHit struct {
	member []byte
	point  geohash.Point
	score  float64
	metres float64 // from the center, if requested
}

// find lists the members within the shape, in the requested order and at most count of them.
func (s *geoSearch) find() []geoHit {
	if s.z == nil {
		return nil
	}
	var hits []geoHit
	enough := func() bool { return s.any && int64(len(hits)) >= s.count }
	for _, r := range s.shape.Ranges() {
		if enough() {
			break
		}
		from, to := s.z.ByScore(zset.ScoreRange{Min: r.Min, Max: r.Max, MaxOpen: true})
		s.z.Range(from, to, func(member []byte, score float64) bool {
			if p := geohash.Decode(score); s.shape.Within(p) {
				hits = append(hits, geoHit{member: Clone(member), point: p, score: score})
			}
			return !enough()
		})
	}
	n := len(hits)
	if s.count != 0 && s.count < int64(n) {
		n = int(s.count)
	}
	if s.order != "" || s.withDist || s.storeDist {
		for i := range hits {
			hits[i].metres = geohash.Distance(s.shape.Center, hits[i].point)
		}
	}
	if s.order != "" {
		sortHits(hits, n, s.order == "DESC")
	}
	return hits[:n]
}

// sortHits sorts hits by distance. If n is less than len(hits), only the first n get their places.
func sortHits(hits []geoHit, n int, down bool) {
	compare := func(a, b geoHit) int { return cmp.Compare(a.metres, b.metres) }
	if down {
		compare = func(a, b geoHit) int { return cmp.Compare(b.metres, a.metres) }
	}
	if n == len(hits) {
		slices.SortStableFunc(hits, compare)
		return
	}
	partialSort(len(hits), 0, n-1, func(i, j int) int { return compare(hits[i], hits[j]) },
		func(i, j int) { hits[i], hits[j] = hits[j], hits[i] })
}

func (s *geoSearch) reply(hits []geoHit) {
	out, parts := s.c.Out, 1
	for _, with := range [...]bool{s.withDist, s.withHash, s.withCoord} {
		if with {
			parts++
		}
	}
	out.Array(len(hits))
	for i := range hits {
		hit := &hits[i]
		if parts > 1 {
			out.Array(parts)
		}
		out.Bulk(hit.member)
		if s.withDist {
			writeDistance(out, hit.metres/s.shape.Unit)
		}
		if s.withHash {
			out.Int(int64(hit.score))
		}
		if s.withCoord {
			writePoint(out, hit.point)
		}
	}
}

// store writes the result to storeKey and replies its size. An empty result removes the key.
func (s *geoSearch) store(hits []geoHit) {
	c := s.c
	if len(hits) == 0 {
		if c.DB.Delete(s.storeKey) {
			c.Notify(keyevent.Generic, "del", s.storeKey)
		}
		c.Out.Int(0)
		return
	}
	st := c.DB.Store()
	z := st.NewZSetTable(nil)
	for i := range hits {
		score := hits[i].score
		if s.storeDist {
			score = hits[i].metres / s.shape.Unit
		}
		z.Set(st.Limits().ZSet, hits[i].member, score)
	}
	was := st.Dirty()
	c.DB.ReplaceZSet(s.storeKey, z.ZSet)
	st.Recount(was, len(hits))
	event := "geosearchstore"
	if s.older {
		event = "georadiusstore"
	}
	c.Notify(keyevent.ZSet, event, s.storeKey)
	c.Out.Int(int64(len(hits)))
}
