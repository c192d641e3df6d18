package commands

// KeyspaceRows returns the rows of the commands on whole databases.
func KeyspaceRows() []Row {
	mode := Opt(OneOf("flush-type", Flag("ASYNC").From("4.0.0"), Flag("SYNC").From("6.2.0")))
	flushTips := []string{"request_policy:all_shards", "response_policy:all_succeeded"}
	return []Row{
		{Name: "dbsize", Group: Server, Since: "1.0.0", Flags: ReadOnly | Fast, Cats: CatKeyspace, Run: dbsize,
			Summary: "Counts the keys of the database.", Complexity: "O(1)",
			Tips: []string{"request_policy:all_shards", "response_policy:agg_sum"}},

		{Name: "flushdb", Group: Server, Since: "1.0.0", Flags: Write | TouchesArbitraryKeys,
			Cats: CatKeyspace | CatDangerous, Run: flushdb,
			Summary: "Removes all keys of the database.", Complexity: "O(N) for N keys of any database with a deadline",
			Tips: flushTips, Args: []Arg{mode}},

		{Name: "flushall", Group: Server, Since: "1.0.0", Flags: Write | TouchesArbitraryKeys,
			Cats: CatKeyspace | CatDangerous, Run: flushall,
			Summary: "Removes all keys of all databases.", Complexity: "O(N) for N keys with a deadline",
			Tips: flushTips, Args: []Arg{mode}, Databases: Databases{All: true}},

		{Name: "swapdb", Group: Server, Since: "4.0.0", Flags: Write | Fast | TouchesArbitraryKeys,
			Cats: CatKeyspace | CatDangerous, Run: swapdb,
			Summary:    "Exchanges the contents of two databases.",
			Complexity: "O(N) for N clients that wait for or watch keys of the two",
			Args:       []Arg{Int("index1"), Int("index2")},
			Databases:  Databases{NotOwn: true, Named: func(_ [][]byte, dst []int) []int { return append(dst, 1, 2) }}},
	}
}
