// Package commands holds every command a client can send: what it is called, what its arguments look
// like, what it does to the store, and what it replies.
//
// # What it owns
//
// A command is one literal [Row], in the table of its family's file. The row states the name, the group, the
// flags and the grammar of the arguments ([Arg]). [NewTable] derives the rest: arity, key positions, ACL
// categories, and the option words that the [Scanner] accepts. From it follow the replies of COMMAND INFO and
// COMMAND DOCS, the HELP of a container and the hints of redis-cli. A row that contradicts itself panics
// there, and so in every test that builds a table. All error texts that clients see are in errors.go.
//
// Locks (lock*.go) and sales (sale*.go, next_id.go) are separate parts of the package: other files use only
// their tables, and they use only what the rest exports. internal/tidy checks that.
// docs/decisions/0013-one-package-of-commands.md explains why they are not packages.
//
// # What it must not know
//
// Sockets, files, the journal, other clients, the wall clock and chance. A handler gets a [Ctx] with the
// database, the time of its unit, a seeded random source and the reply, and nothing else.
//
// # How to add a command
//
// First, put a row into the family's table, with its Summary in our own words:
//
//	{Name: "getex", Group: String, Since: "6.2.0", Flags: Write | Fast, Run: getex,
//		Summary: "Reads a string and changes or removes its expiry.", Complexity: "O(1)",
//		Args: []Arg{Key("key", RW|Access|Update),
//			Opt(OneOf("expiration", Int("seconds").After("EX"), Int("milliseconds").After("PX"),
//				UnixTime("unix-time-seconds").After("EXAT"),
//				UnixTime("unix-time-milliseconds").After("PXAT"), Flag("PERSIST")))}},
//
// Then write the handler. It reads its arguments with c.Args(), checks the scanner's error once, and only
// then touches the store and writes its reply:
//
//	func getex(c *Ctx) error {
//		a := c.Args()
//		key := a.Key()
//		for a.More() {
//			switch w := a.Option(); w {
//			case "EX", "PX", "EXAT", "PXAT":
//				Choose(a, &unit, w)
//				num = a.Bytes()
//			case "PERSIST":
//				Choose(a, &unit, w)
//			default:
//				a.Syntax()
//			}
//		}
//		if err := a.Err(); err != nil {
//			return err
//		}
//		...
//	}
//
// Last, run the tests of this package: the golden test compares every row that Redis 7.4 has too with what
// Redis says about it, and names each fact that differs. An option that is newer than 7.0 carries its
// version, Flag("IFEQ").From("8.4.0"), and is left out of that comparison. Deliberate differences are in that
// test's list of deviations, with the reason.
//
// A new family is a function XyzRows and a line in families.go. Rows that need more of the server than a
// [Ctx] gives stand in the server's package, which compares them with the golden file through tabletest.
//
// A handler is named after its command. If that is a Go keyword, a builtin or a word of another family
// (append, copy, type, select, set), it gets a second word: appendString, copyKey, typeOf, selectDB,
// setString.
package commands
