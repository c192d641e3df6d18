package commands

// hashExpireRows returns the rows of the commands about deadlines of fields. Redis has them since 7.4 and
// 8.0.
func hashExpireRows() []Row {
	rows := hashDeadlineRows()
	rows = append(rows, hashTimeRows()...)
	return append(rows, hashFieldRows()...)
}

// fieldsArg describes FIELDS, a number, and that number of fields.
func fieldsArg() Arg {
	return Block("fields", Int("numfields"), Str("field").Many()).After("FIELDS")
}

func hashDeadlineRows() []Row {
	condition := Opt(OneOf("condition", Flag("NX"), Flag("XX"), Flag("GT"), Flag("LT")))
	perField := "O(N), N being the number of fields"
	return []Row{
		{Name: "hexpire", Group: Hash, Since: "7.4.0", Flags: Write | DenyOOM | Fast, Run: hexpire,
			Summary:    "Makes fields of a hash die in some seconds.",
			Complexity: perField,
			Args:       []Arg{Key("key", RW|Update), Int("seconds"), condition, fieldsArg()}},

		{Name: "hpexpire", Group: Hash, Since: "7.4.0", Flags: Write | DenyOOM | Fast, Run: hpexpire,
			Summary:    "Makes fields of a hash die in some milliseconds.",
			Complexity: perField,
			Args:       []Arg{Key("key", RW|Update), Int("milliseconds"), condition, fieldsArg()}},

		{Name: "hexpireat", Group: Hash, Since: "7.4.0", Flags: Write | DenyOOM | Fast, Run: hexpireat,
			Summary:    "Makes fields of a hash die at a time in seconds since 1970.",
			Complexity: perField,
			Args:       []Arg{Key("key", RW|Update), UnixTime("unix-time-seconds"), condition, fieldsArg()}},

		{Name: "hpexpireat", Group: Hash, Since: "7.4.0", Flags: Write | DenyOOM | Fast, Run: hpexpireat,
			Summary:    "Makes fields of a hash die at a time in milliseconds since 1970.",
			Complexity: perField,
			Args:       []Arg{Key("key", RW|Update), UnixTime("unix-time-milliseconds"), condition, fieldsArg()}},

		{Name: "hpersist", Group: Hash, Since: "7.4.0", Flags: Write | Fast, Run: hpersist,
			Summary:    "Takes the deadlines of fields of a hash away.",
			Complexity: perField,
			Args:       []Arg{Key("key", RW|Update), fieldsArg()}},
	}
}

func hashTimeRows() []Row {
	perField := "O(N), N being the number of fields"
	return []Row{
		{Name: "httl", Group: Hash, Since: "7.4.0", Flags: ReadOnly | Fast, Run: httl,
			Summary:    "Tells in how many seconds fields of a hash die.",
			Complexity: perField,
			Args:       []Arg{Key("key", RO|Access), fieldsArg()}},

		{Name: "hpttl", Group: Hash, Since: "7.4.0", Flags: ReadOnly | Fast, Run: hpttl,
			Summary:    "Tells in how many milliseconds fields of a hash die.",
			Complexity: perField,
			Args:       []Arg{Key("key", RO|Access), fieldsArg()}},

		{Name: "hexpiretime", Group: Hash, Since: "7.4.0", Flags: ReadOnly | Fast, Run: hexpiretime,
			Summary:    "Tells when fields of a hash die, in seconds since 1970.",
			Complexity: perField,
			Args:       []Arg{Key("key", RO|Access), fieldsArg()}},

		{Name: "hpexpiretime", Group: Hash, Since: "7.4.0", Flags: ReadOnly | Fast, Run: hpexpiretime,
			Summary:    "Tells when fields of a hash die, in milliseconds since 1970.",
			Complexity: perField,
			Args:       []Arg{Key("key", RO|Access), fieldsArg()}},
	}
}

func hashFieldRows() []Row {
	times := func(last Arg) Arg {
		return Opt(OneOf("expiration", Int("seconds").After("EX"), Int("milliseconds").After("PX"),
			UnixTime("unix-time-seconds").After("EXAT"), UnixTime("unix-time-milliseconds").After("PXAT"), last))
	}
	return []Row{
		{Name: "hgetex", Group: Hash, Since: "8.0.0", Flags: Write | Fast, Run: hgetex,
			Summary:    "Reads fields of a hash and sets their deadlines or takes them away.",
			Complexity: "O(N), N being the number of fields",
			Args:       []Arg{Key("key", RW|Access|Update), times(Flag("PERSIST")), fieldsArg()}},

		{Name: "hsetex", Group: Hash, Since: "8.0.0", Flags: Write | DenyOOM | Fast, Run: hsetex,
			Summary:    "Gives fields of a hash their values and one deadline, perhaps if all or none of them exist.",
			Complexity: "O(N), N being the number of fields",
			Args: []Arg{Key("key", RW|Update), Opt(OneOf("condition", Flag("FNX"), Flag("FXX"))), times(Flag("KEEPTTL")),
				Block("fields", Int("numfields"), Block("data", Str("field"), Str("value")).Many()).After("FIELDS")}},

		{Name: "hgetdel", Group: Hash, Since: "8.0.0", Flags: Write | Fast, Run: hgetdel,
			Summary:    "Reads fields of a hash and removes them; the hash goes with its last field.",
			Complexity: "O(N), N being the number of fields",
			Args:       []Arg{Key("key", RW|Access|Delete), fieldsArg()}},
	}
}
