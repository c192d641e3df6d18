package commands

// ListRows returns the rows of the commands on lists.
func ListRows() []Row {
	rows := listPushRows()
	rows = append(rows, listPopRows()...)
	rows = append(rows, listMoveRows()...)
	rows = append(rows, listReadRows()...)
	return append(rows, listEditRows()...)
}

// sideArg describes the choice of an end of a list.
func sideArg(name string) Arg { return OneOf(name, Flag("LEFT"), Flag("RIGHT")) }

func listPushRows() []Row {
	const each = "O(1) for each element"
	args := []Arg{Key("key", RW|Insert), Str("element").Many()}
	return []Row{
		{Name: "lpush", Group: List, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: lpush,
			Summary:    "Puts elements in at the left end of a list, one after the other, and says how long it is then.",
			Complexity: each, Args: args},
		{Name: "rpush", Group: List, Since: "1.0.0", Flags: Write | DenyOOM | Fast, Run: rpush,
			Summary:    "Puts elements in at the right end of a list and says how long it is then.",
			Complexity: each, Args: args},
		{Name: "lpushx", Group: List, Since: "2.2.0", Flags: Write | DenyOOM | Fast, Run: lpushx,
			Summary:    "Puts elements in at the left end of a list, if there is such a list.",
			Complexity: each, Args: args},
		{Name: "rpushx", Group: List, Since: "2.2.0", Flags: Write | DenyOOM | Fast, Run: rpushx,
			Summary:    "Puts elements in at the right end of a list, if there is such a list.",
			Complexity: each, Args: args},
	}
}

func listPopRows() []Row {
	const each = "O(N), N being the number of elements returned"
	count := Opt(Int("count").From("6.2.0"))
	keys := Key("key", RW|Access|Delete).Many()
	most := Opt(Int("count").After("COUNT"))
	return []Row{
		{Name: "lpop", Group: List, Since: "1.0.0", Flags: Write | Fast, Run: lpop,
			Summary:    "Takes elements out at the left end of a list; the list goes with its last element.",
			Complexity: each,
			Args:       []Arg{Key("key", RW|Access|Delete), count}},
		{Name: "rpop", Group: List, Since: "1.0.0", Flags: Write | Fast, Run: rpop,
			Summary:    "Takes elements out at the right end of a list; the list goes with its last element.",
			Complexity: each,
			Args:       []Arg{Key("key", RW|Access|Delete), count}},
		{Name: "lmpop", Group: List, Since: "7.0.0", Flags: Write, Run: lmpop,
			Summary:    "Takes elements out at one end of the first of several lists that is there.",
			Complexity: "O(N+M), N being the number of keys and M the number of elements returned",
			Args:       []Arg{Int("numkeys"), keys, sideArg("where"), most}},
		{Name: "blpop", Group: List, Since: "2.0.0", Flags: Write | Blocking, Run: blpop,
			Summary:    "Takes the leftmost element out of the first of several lists that is there; waits if none is.",
			Complexity: "O(N), N being the number of keys",
			Args:       []Arg{keys, Double("timeout")}},
		{Name: "brpop", Group: List, Since: "2.0.0", Flags: Write | Blocking, Run: brpop,
			Summary:    "Takes the rightmost element out of the first of several lists that is there; waits if none is.",
			Complexity: "O(N), N being the number of keys",
			Args:       []Arg{keys, Double("timeout")}},
		{Name: "blmpop", Group: List, Since: "7.0.0", Flags: Write | Blocking, Run: blmpop,
			Summary:    "Takes elements out at one end of the first of several lists that is there; waits if none is.",
			Complexity: "O(N+M), N being the number of keys and M the number of elements returned",
			Args:       []Arg{Double("timeout"), Int("numkeys"), keys, sideArg("where"), most}},
	}
}

func listMoveRows() []Row {
	source, destination := Key("source", RW|Access|Delete), Key("destination", RW|Insert)
	return []Row{
		{Name: "lmove", Group: List, Since: "6.2.0", Flags: Write | DenyOOM, Run: lmove,
			Summary:    "Takes an element out at one end of a list and puts it in at one end of another.",
			Complexity: "O(1)",
			Args:       []Arg{source, destination, sideArg("wherefrom"), sideArg("whereto")}},
		{Name: "rpoplpush", Group: List, Since: "1.2.0", Flags: Write | DenyOOM, Run: rpoplpush,
			Deprecated: "6.2.0", ReplacedBy: "`LMOVE` with the `RIGHT` and `LEFT` arguments",
			Summary:    "Takes the rightmost element out of a list and puts it in at the left end of another.",
			Complexity: "O(1)",
			Args:       []Arg{source, destination}},
		{Name: "blmove", Group: List, Since: "6.2.0", Flags: Write | DenyOOM | Blocking, Run: blmove,
			Summary:    "Takes an element out at one end of a list and puts it in at one end of another; waits for one.",
			Complexity: "O(1)",
			Args:       []Arg{source, destination, sideArg("wherefrom"), sideArg("whereto"), Double("timeout")}},
		{Name: "brpoplpush", Group: List, Since: "2.2.0", Flags: Write | DenyOOM | Blocking, Run: brpoplpush,
			Deprecated: "6.2.0", ReplacedBy: "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
			Summary:    "Takes the rightmost element out of a list and puts it in at the left end of another; waits for one.",
			Complexity: "O(1)",
			Args:       []Arg{source, destination, Double("timeout")}},
	}
}

func listReadRows() []Row {
	return []Row{
		{Name: "llen", Group: List, Since: "1.0.0", Flags: ReadOnly | Fast, Run: llen,
			Summary:    "Counts the elements of a list.",
			Complexity: "O(1)",
			Args:       []Arg{Key("key", RO)}},
		{Name: "lindex", Group: List, Since: "1.0.0", Flags: ReadOnly, Run: lindex,
			Summary:    "Reads the element at an index, counted from the left, or, if it is negative, from the right.",
			Complexity: "O(N) for an element N places from the nearer end, a node of elements at a time",
			Args:       []Arg{Key("key", RO|Access), Int("index")}},
		{Name: "lrange", Group: List, Since: "1.0.0", Flags: ReadOnly, Run: lrange,
			Summary:    "Reads the elements between two indexes.",
			Complexity: "O(S+N), S being the distance from the nearer end and N the number of elements returned",
			Args:       []Arg{Key("key", RO|Access), Int("start"), Int("stop")}},
		{Name: "lpos", Group: List, Since: "6.0.6", Flags: ReadOnly, Run: lpos,
			Summary:    "Finds the indexes of an element.",
			Complexity: "O(N), N being the number of elements looked at",
			Args: []Arg{Key("key", RO|Access), Str("element"), Opt(Int("rank").After("RANK")),
				Opt(Int("num-matches").After("COUNT")), Opt(Int("len").After("MAXLEN"))}},
	}
}

func listEditRows() []Row {
	return []Row{
		{Name: "lset", Group: List, Since: "1.0.0", Flags: Write | DenyOOM, Run: lset,
			Summary:    "Replaces the element at an index.",
			Complexity: "O(N) for an element N places from the nearer end, a node of elements at a time",
			Args:       []Arg{Key("key", RW|Update), Int("index"), Str("element")}},
		{Name: "linsert", Group: List, Since: "2.2.0", Flags: Write | DenyOOM, Run: linsert,
			Summary:    "Puts an element in before or after the first one that equals another, and says how long the list is then.",
			Complexity: "O(N), N being the number of elements up to that one",
			Args: []Arg{Key("key", RW|Insert), OneOf("where", Flag("BEFORE"), Flag("AFTER")), Str("pivot"),
				Str("element")}},
		{Name: "lrem", Group: List, Since: "1.0.0", Flags: Write, Run: lrem,
			Summary:    "Takes out what equals an element, the first few from one end or all, and says how many those were.",
			Complexity: "O(N), N being the length of the list",
			Args:       []Arg{Key("key", RW|Delete), Int("count"), Str("element")}},
		{Name: "ltrim", Group: List, Since: "1.0.0", Flags: Write, Run: ltrim,
			Summary:    "Keeps the elements between two indexes and takes out all others.",
			Complexity: "O(N), N being the number of elements taken out",
			Args:       []Arg{Key("key", RW|Delete), Int("start"), Int("stop")}},
	}
}
