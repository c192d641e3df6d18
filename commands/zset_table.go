package commands

// ZSetRows returns the rows of the commands on sorted sets.
func ZSetRows() []Row {
	rows := zsetMemberRows()
	rows = append(rows, zsetRangeRows()...)
	rows = append(rows, zsetOldRangeRows()...)
	rows = append(rows, zsetRemoveRows()...)
	rows = append(rows, zsetPopRows()...)
	rows = append(rows, zsetWalkRows()...)
	return append(rows, zsetAlgebraRows()...)
}

const (
	rankTime  = "O(log(N)), N being the size of the sorted set"
	rangeTime = "O(log(N)+M), N being the size of the sorted set and M the number of members listed"
)

func zsetMemberRows() []Row {
	const addTime = "O(log(N)) a member, N being the size of the sorted set"
	return []Row{
		{Name: "zadd", Group: SortedSet, Since: "1.2.0", Flags: Write | DenyOOM | Fast, Run: zadd,
			Summary:    "Gives members scores, adding those that are new, as far as the conditions allow.",
			Complexity: addTime,
			Args: []Arg{Key("key", RW|Update), Opt(OneOf("condition", Flag("NX"), Flag("XX"))).From("3.0.2"),
				Opt(OneOf("comparison", Flag("GT"), Flag("LT"))).From("6.2.0"),
				Opt(Flag("CH").Named("change").From("3.0.2")), Opt(Flag("INCR").Named("increment").From("3.0.2")),
				Block("data", Double("score"), Str("member")).Many()}},
		{Name: "zincrby", Group: SortedSet, Since: "1.2.0", Flags: Write | DenyOOM | Fast, Run: zincrby,
			Summary:    "Adds to a member's score; a member that is not there has had 0.",
			Complexity: rankTime,
			Args:       []Arg{Key("key", RW|Access|Update), Int("increment"), Str("member")}},
		{Name: "zrem", Group: SortedSet, Since: "1.2.0", Flags: Write | Fast, Run: zrem,
			Summary:    "Takes members out of a sorted set; it goes with its last member.",
			Complexity: addTime,
			Args:       []Arg{Key("key", RW|Delete), Str("member").Many()}},
		{Name: "zcard", Group: SortedSet, Since: "1.2.0", Flags: ReadOnly | Fast, Run: zcard,
			Summary:    "Counts the members of a sorted set.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO)}},
		{Name: "zscore", Group: SortedSet, Since: "1.2.0", Flags: ReadOnly | Fast, Run: zscore,
			Summary:    "Reads a member's score.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO|Access), Str("member")}},
		{Name: "zmscore", Group: SortedSet, Since: "6.2.0", Flags: ReadOnly | Fast, Run: zmscore,
			Summary:    "Reads the scores of several members.",
			Complexity: "O(N), N being the number of members given",
			Args:       []Arg{Key("key", RO|Access), Str("member").Many()}},
		{Name: "zrank", Group: SortedSet, Since: "2.0.0", Flags: ReadOnly | Fast, Run: zrank,
			Summary:    "Tells how many members stand before one, lowest first.",
			Complexity: rankTime,
			Args:       []Arg{Key("key", RO|Access), Str("member"), Opt(Flag("WITHSCORE"))}},
		{Name: "zrevrank", Group: SortedSet, Since: "2.0.0", Flags: ReadOnly | Fast, Run: zrevrank,
			Summary:    "Tells how many members stand before one, highest first.",
			Complexity: rankTime,
			Args:       []Arg{Key("key", RO|Access), Str("member"), Opt(Flag("WITHSCORE"))}},
		{Name: "zcount", Group: SortedSet, Since: "2.0.0", Flags: ReadOnly | Fast, Run: zcount,
			Summary:    "Counts the members with scores in a range.",
			Complexity: rankTime,
			Args:       []Arg{Key("key", RO|Access), Double("min"), Double("max")}},
		{Name: "zlexcount", Group: SortedSet, Since: "2.8.9", Flags: ReadOnly | Fast, Run: zlexcount,
			Summary:    "Counts the members in a range of their bytes, where all have the same score.",
			Complexity: rankTime,
			Args:       []Arg{Key("key", RO|Access), Str("min"), Str("max")}},
	}
}

func zsetRangeRows() []Row {
	limit := Opt(Block("limit", Int("offset"), Int("count")).After("LIMIT"))
	sortBy := Opt(OneOf("sortby", Flag("BYSCORE"), Flag("BYLEX")))
	return []Row{
		{Name: "zrange", Group: SortedSet, Since: "1.2.0", Flags: ReadOnly, Run: zrange,
			Summary:    "Lists the members in a range of ranks, scores or bytes, in either direction.",
			Complexity: rangeTime,
			Args: []Arg{Key("key", RO|Access), Str("start"), Str("stop"), sortBy.From("6.2.0"), Opt(Flag("REV").From("6.2.0")),
				limit.From("6.2.0"), Opt(Flag("WITHSCORES"))}},
		{Name: "zrangestore", Group: SortedSet, Since: "6.2.0", Flags: Write | DenyOOM, Run: zrangestore,
			Summary:    "Makes a sorted set of a range of another one.",
			Complexity: "O(log(N)+M), N being the size of the sorted set and M the number of members stored",
			Args: []Arg{Key("dst", OW|Update), Key("src", RO|Access), Str("min"), Str("max"), sortBy, Opt(Flag("REV")),
				limit}},
	}
}

func zsetOldRangeRows() []Row {
	limit := Opt(Block("limit", Int("offset"), Int("count")).After("LIMIT"))
	key, withScores := Key("key", RO|Access), Opt(Flag("WITHSCORES"))
	return []Row{
		{Name: "zrevrange", Group: SortedSet, Since: "1.2.0", Flags: ReadOnly, Run: zrevrange,
			Deprecated: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` argument",
			Summary:    "Lists the members in a range of ranks, highest first.",
			Complexity: rangeTime,
			Args:       []Arg{key, Int("start"), Int("stop"), withScores}},
		{Name: "zrangebyscore", Group: SortedSet, Since: "1.0.5", Flags: ReadOnly, Run: zrangebyscore,
			Deprecated: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYSCORE` argument",
			Summary:    "Lists the members with scores in a range, lowest first.",
			Complexity: rangeTime,
			Args:       []Arg{key, Double("min"), Double("max"), withScores.From("2.0.0"), limit}},
		{Name: "zrevrangebyscore", Group: SortedSet, Since: "2.2.0", Flags: ReadOnly, Run: zrevrangebyscore,
			Deprecated: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYSCORE` arguments",
			Summary:    "Lists the members with scores in a range, highest first.",
			Complexity: rangeTime,
			Args:       []Arg{key, Double("max"), Double("min"), withScores, limit}},
		{Name: "zrangebylex", Group: SortedSet, Since: "2.8.9", Flags: ReadOnly, Run: zrangebylex,
			Deprecated: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYLEX` argument",
			Summary:    "Lists the members in a range of their bytes, where all have the same score.",
			Complexity: rangeTime,
			Args:       []Arg{key, Str("min"), Str("max"), limit}},
		{Name: "zrevrangebylex", Group: SortedSet, Since: "2.8.9", Flags: ReadOnly, Run: zrevrangebylex,
			Deprecated: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYLEX` arguments",
			Summary:    "Lists the members in a range of their bytes from its end, where all have the same score.",
			Complexity: rangeTime,
			Args:       []Arg{key, Str("max"), Str("min"), limit}},
	}
}

func zsetRemoveRows() []Row {
	const removeTime = "O(M*log(N)), N being the size of the sorted set and M the number of members removed"
	key := Key("key", RW|Delete)
	return []Row{
		{Name: "zremrangebyrank", Group: SortedSet, Since: "2.0.0", Flags: Write, Run: zremrangebyrank,
			Summary:    "Takes out the members in a range of ranks.",
			Complexity: removeTime,
			Args:       []Arg{key, Int("start"), Int("stop")}},
		{Name: "zremrangebyscore", Group: SortedSet, Since: "1.2.0", Flags: Write, Run: zremrangebyscore,
			Summary:    "Takes out the members with scores in a range.",
			Complexity: removeTime,
			Args:       []Arg{key, Double("min"), Double("max")}},
		{Name: "zremrangebylex", Group: SortedSet, Since: "2.8.9", Flags: Write, Run: zremrangebylex,
			Summary:    "Takes out the members in a range of their bytes, where all have the same score.",
			Complexity: removeTime,
			Args:       []Arg{key, Str("min"), Str("max")}},
	}
}

func zsetPopRows() []Row {
	const (
		popTime  = "O(M*log(N)), N being the size of the sorted set and M the number of members popped"
		firstFew = "O(K) + O(M*log(N)), K being the number of keys, N the size of the sorted set, M the number of members popped"
	)
	key := Key("key", RW|Access|Delete)
	where := OneOf("where", Flag("MIN"), Flag("MAX"))
	count := Opt(Int("count").After("COUNT"))
	return []Row{
		{Name: "zpopmin", Group: SortedSet, Since: "5.0.0", Flags: Write | Fast, Run: zpopmin,
			Summary:    "Takes out the members with the lowest scores.",
			Complexity: popTime,
			Args:       []Arg{key, Opt(Int("count"))}},
		{Name: "zpopmax", Group: SortedSet, Since: "5.0.0", Flags: Write | Fast, Run: zpopmax,
			Summary:    "Takes out the members with the highest scores.",
			Complexity: popTime,
			Args:       []Arg{key, Opt(Int("count"))}},
		{Name: "zmpop", Group: SortedSet, Since: "7.0.0", Flags: Write, Run: zmpop,
			Summary:    "Takes members out of the first sorted set of several that has any.",
			Complexity: firstFew,
			Args:       []Arg{Int("numkeys"), key.Many(), where, count}},
		{Name: "bzpopmin", Group: SortedSet, Since: "5.0.0", Flags: Write | Blocking | Fast, Run: bzpopmin,
			Summary:    "Takes out the member with the lowest score of the first sorted set that has any, and waits for one if none has.",
			Complexity: rankTime,
			Args:       []Arg{key.Many(), Double("timeout")}},
		{Name: "bzpopmax", Group: SortedSet, Since: "5.0.0", Flags: Write | Blocking | Fast, Run: bzpopmax,
			Summary:    "Takes out the member with the highest score of the first sorted set that has any, and waits for one if none has.",
			Complexity: rankTime,
			Args:       []Arg{key.Many(), Double("timeout")}},
		{Name: "bzmpop", Group: SortedSet, Since: "7.0.0", Flags: Write | Blocking, Run: bzmpop,
			Summary:    "Takes members out of the first sorted set that has any, and waits for one if none has.",
			Complexity: firstFew,
			Args:       []Arg{Double("timeout"), Int("numkeys"), key.Many(), where, count}},
	}
}

func zsetWalkRows() []Row {
	anyOutput := []string{"nondeterministic_output"}
	key := Key("key", RO|Access)
	return []Row{
		{Name: "zrandmember", Group: SortedSet, Since: "6.2.0", Flags: ReadOnly, Tips: anyOutput, Run: zrandmember,
			Summary:    "Draws random members of a sorted set: distinct ones, or, with a negative count, independent ones.",
			Complexity: "O(N), N being the number of members drawn",
			Args:       []Arg{key, Opt(Block("options", Int("count"), Opt(Flag("WITHSCORES"))))}},
		{Name: "zscan", Group: SortedSet, Since: "2.8.0", Flags: ReadOnly, Tips: anyOutput, Run: zscan,
			Summary:    "Walks through the members of a sorted set and their scores, some at a time.",
			Complexity: "O(1) a call, O(N) for the whole sorted set of N members",
			Args:       []Arg{key, Int("cursor"), Opt(Pattern("pattern").After("MATCH")), Opt(Int("count").After("COUNT"))}},
	}
}

func zsetAlgebraRows() []Row {
	const (
		unionTime = "O(N)+O(M*log(M)), N being the sizes of all inputs together and M that of the result"
		interTime = "O(N*K)+O(M*log(M)), N being the size of the smallest input, K the number of inputs and M the size of the result"
		diffTime  = "O(N)+O(M*log(M)), N being the sizes of all inputs together and M that of the result"
	)
	destination, numKeys, keys := Key("destination", OW|Update), Int("numkeys"), Key("key", RO|Access).Many()
	weights := Opt(Int("weight").After("WEIGHTS").Many())
	aggregate := Opt(OneOf("aggregate", Flag("SUM"), Flag("MIN"), Flag("MAX"), Flag("COUNT").From("8.8.0")).After("AGGREGATE"))
	withScores := Opt(Flag("WITHSCORES"))
	return []Row{
		{Name: "zunion", Group: SortedSet, Since: "6.2.0", Flags: ReadOnly, Run: zunion,
			Summary:    "Lists what any of several sorted sets or sets has, with scores put together.",
			Complexity: unionTime,
			Args:       []Arg{numKeys, keys, weights, aggregate, withScores}},
		{Name: "zinter", Group: SortedSet, Since: "6.2.0", Flags: ReadOnly, Run: zinter,
			Summary:    "Lists what all of several sorted sets or sets have, with scores put together.",
			Complexity: interTime,
			Args:       []Arg{numKeys, keys, weights, aggregate, withScores}},
		{Name: "zdiff", Group: SortedSet, Since: "6.2.0", Flags: ReadOnly, Run: zdiff,
			Summary:    "Lists what the first of several sorted sets or sets has and no other one.",
			Complexity: diffTime,
			Args:       []Arg{numKeys, keys, withScores}},
		{Name: "zunionstore", Group: SortedSet, Since: "2.0.0", Flags: Write | DenyOOM, Run: zunionstore,
			Summary:    "Makes a sorted set of what any of several sorted sets or sets has, with scores put together.",
			Complexity: unionTime,
			Args:       []Arg{destination, numKeys, keys, weights, aggregate}},
		{Name: "zinterstore", Group: SortedSet, Since: "2.0.0", Flags: Write | DenyOOM, Run: zinterstore,
			Summary:    "Makes a sorted set of what all of several sorted sets or sets have, with scores put together.",
			Complexity: interTime,
			Args:       []Arg{destination, numKeys, keys, weights, aggregate}},
		{Name: "zdiffstore", Group: SortedSet, Since: "6.2.0", Flags: Write | DenyOOM, Run: zdiffstore,
			Summary:    "Makes a sorted set of what the first of several sorted sets or sets has and no other one.",
			Complexity: diffTime,
			Args:       []Arg{destination, numKeys, keys}},
		{Name: "zintercard", Group: SortedSet, Since: "7.0.0", Flags: ReadOnly, Run: zintercard,
			Summary:    "Counts what all of several sorted sets or sets have, up to a limit if there is one.",
			Complexity: "O(N*K), N being the size of the smallest input and K the number of inputs",
			Args:       []Arg{numKeys, keys, Opt(Int("limit").After("LIMIT"))}},
	}
}
