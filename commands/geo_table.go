package commands

// GeoRows returns the rows of the commands on sorted sets of positions.
func GeoRows() []Row {
	rows := geoMemberRows()
	// plant:geo-rows
	rows = append(rows, geoSearchRows()...)
	return append(rows, geoRadiusRows()...)
}

const geoTime = "O(N+log(M)), N being the number of members around the area and M the size of the sorted set"

func geoUnits() Arg { return OneOf("unit", Flag("M"), Flag("KM"), Flag("FT"), Flag("MI")) }

// geoCount describes the option COUNT; anySince is the version in which Redis added ANY to the command.
func geoCount(anySince string) Arg {
	return Opt(Block("count-block", Int("count").After("COUNT"), Opt(Flag("ANY").From(anySince))))
}

func geoOrder() Arg { return Opt(OneOf("order", Flag("ASC"), Flag("DESC"))) }

func geoMemberRows() []Row {
	return []Row{
		{Name: "geoadd", Group: Geo, Since: "3.2.0", Flags: Write | DenyOOM, Run: geoadd,
			Summary:    "Gives members positions, as scores of a sorted set.",
			Complexity: "O(log(N)) a member, N being the size of the sorted set",
			Args: []Arg{Key("key", RW|Update), Opt(OneOf("condition", Flag("NX"), Flag("XX"))).From("6.2.0"),
				Opt(Flag("CH").Named("change")).From("6.2.0"),
				Block("data", Double("longitude"), Double("latitude"), Str("member")).Many()}},

		{Name: "geodist", Group: Geo, Since: "3.2.0", Flags: ReadOnly, Run: geodist,
			Summary: "Tells how far two members are from each other.", Complexity: "O(1)",
			Args: []Arg{Key("key", RO|Access), Str("member1"), Str("member2"), Opt(geoUnits())}},

		{Name: "geohash", Group: Geo, Since: "3.2.0", Flags: ReadOnly, Run: geohashText,
			Summary: "Returns the geohashes of members as text.", Complexity: "O(1) a member",
			Args: []Arg{Key("key", RO|Access), Opt(Str("member").Many())}},

		{Name: "geopos", Group: Geo, Since: "3.2.0", Flags: ReadOnly, Run: geopos,
			Summary: "Returns the longitudes and latitudes of members.", Complexity: "O(1) a member",
			Args: []Arg{Key("key", RO|Access), Opt(Str("member").Many())}},
	}
}

func geoSearchRows() []Row {
	from := OneOf("from", Str("member").After("FROMMEMBER"),
		Block("fromlonlat", Double("longitude"), Double("latitude")).After("FROMLONLAT"))
	by := OneOf("by", Block("circle", Double("radius").After("BYRADIUS"), geoUnits()),
		Block("box", Double("width").After("BYBOX"), Double("height"), geoUnits()),
		Block("polygon", Int("num-vertices").After("BYPOLYGON"),
			Block("vertex", Double("longitude"), Double("latitude")).Many()).From("9.0.0"))
	return []Row{
		{Name: "geosearch", Group: Geo, Since: "6.2.0", Flags: ReadOnly, Run: geosearch,
			Summary:    "Finds the members within a circle, a box or a polygon.",
			Complexity: geoTime,
			Args: []Arg{Key("key", RO|Access), from, by, geoOrder(), geoCount(""),
				Opt(Flag("WITHCOORD")), Opt(Flag("WITHDIST")), Opt(Flag("WITHHASH"))}},

		{Name: "geosearchstore", Group: Geo, Since: "6.2.0", Flags: Write | DenyOOM, Run: geosearchstore,
			Summary:    "Finds the members within a circle, a box or a polygon and puts them into a sorted set.",
			Complexity: geoTime,
			Args: []Arg{Key("destination", OW|Update), Key("source", RO|Access), from, by, geoOrder(),
				geoCount(""), Opt(Flag("STOREDIST"))}},
	}
}

func geoRadiusRows() []Row {
	options := func(anySince string) []Arg {
		return []Arg{Opt(Flag("WITHCOORD")), Opt(Flag("WITHDIST")), Opt(Flag("WITHHASH")), geoCount(anySince), geoOrder()}
	}
	point := append([]Arg{Key("key", RO|Access), Double("longitude"), Double("latitude"), Double("radius"), geoUnits()},
		options("6.2.0")...)
	member := append([]Arg{Key("key", RO|Access), Str("member"), Double("radius"), geoUnits()}, options("")...)
	stores := func(args []Arg) []Arg {
		return append(args[:len(args):len(args)], Opt(OneOf("store", Key("storekey", OW|Update).Shown("key").After("STORE"),
			Key("storedistkey", OW|Update).Shown("key").After("STOREDIST"))))
	}
	return []Row{
		{Name: "georadius", Group: Geo, Since: "3.2.0", Flags: Write | DenyOOM, Run: georadius,
			Deprecated: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with `BYRADIUS`",
			Summary:    "Finds the members around a position, and may put them into a sorted set.",
			Complexity: geoTime,
			Args:       stores(point)},

		{Name: "georadius_ro", Group: Geo, Since: "3.2.10", Flags: ReadOnly, Run: georadius,
			Deprecated: "6.2.0", ReplacedBy: "`GEOSEARCH` with `BYRADIUS`",
			Summary:    "Finds the members around a position.",
			Complexity: geoTime,
			Args:       point},

		{Name: "georadiusbymember", Group: Geo, Since: "3.2.0", Flags: Write | DenyOOM, Run: georadiusbymember,
			Deprecated: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with `BYRADIUS` and `FROMMEMBER`",
			Summary:    "Finds the members around another one, and may put them into a sorted set.",
			Complexity: geoTime,
			Args:       stores(member)},

		{Name: "georadiusbymember_ro", Group: Geo, Since: "3.2.10", Flags: ReadOnly, Run: georadiusbymember,
			Deprecated: "6.2.0", ReplacedBy: "`GEOSEARCH` with `BYRADIUS` and `FROMMEMBER`",
			Summary:    "Finds the members around another one.",
			Complexity: geoTime,
			Args:       member},
	}
}
