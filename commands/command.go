package commands

import "lockserver/internal/glob"

// CommandRows is COMMAND, with which clients ask about all other commands.
func CommandRows() []Row {
	const flags = Loading | Stale
	unordered := []string{"nondeterministic_output_order"}
	names := []Arg{Opt(Str("command-name").Many())}
	return []Row{{
		Name: "command", Group: Server, Since: "2.8.13", Flags: flags, HelpSince: "5.0.0", Cats: CatConnection, Tips: unordered,
		Summary: "Describes every command to clients.", Complexity: "O(N) for N commands", Run: command,
		Sub: []Row{
			{Name: "count", Group: Server, Since: "2.8.13", Flags: flags, HelpSince: "5.0.0", Cats: CatConnection,
				Summary: "Counts the commands of this server.", Complexity: "O(1)", Run: commandCount},
			{Name: "list", Group: Server, Since: "7.0.0", Flags: flags, Cats: CatConnection, Tips: unordered,
				Summary: "Lists the names of the commands.", Complexity: "O(N) for N commands", Run: commandList,
				Args: []Arg{Opt(OneOf("filterby", Str("module-name").After("MODULE"),
					Str("category").After("ACLCAT"), Pattern("pattern").After("PATTERN")).After("FILTERBY"))}},
			{Name: "info", Group: Server, Since: "2.8.13", Flags: flags, HelpSince: "5.0.0", Cats: CatConnection, Tips: unordered,
				Summary:    "Describes commands: arity, flags, keys and ACL categories.",
				Complexity: "O(N) for N commands", Args: names, Run: commandInfo},
			{Name: "docs", Group: Server, Since: "7.0.0", Flags: flags, Cats: CatConnection, Tips: unordered,
				Summary: "Documents commands: summary, group and arguments.", Complexity: "O(N) for N commands",
				Args: names, Run: commandDocs},
			{Name: "getkeys", Group: Server, Since: "2.8.13", Flags: flags, HelpSince: "5.0.0", Cats: CatConnection,
				Summary: "Tells which arguments of a command are keys.", Complexity: "O(N) for N arguments",
				Args: []Arg{Str("command"), Opt(Str("arg").Many())}, Run: commandGetKeys},
			{Name: "getkeysandflags", Group: Server, Since: "7.0.0", Flags: flags, Cats: CatConnection,
				Summary:    "Tells which arguments of a command are keys, and how they are used.",
				Complexity: "O(N) for N arguments",
				Args:       []Arg{Str("command"), Opt(Str("arg").Many())}, Run: commandGetKeysAndFlags},
		},
	}}
}

func command(c *Ctx) error {
	rows := c.Table.Rows()
	c.Out.Array(len(rows))
	for _, r := range rows {
		writeInfo(c.Out, r)
	}
	return nil
}

func commandCount(c *Ctx) error {
	c.Out.Int(int64(len(c.Table.Rows())))
	return nil
}

func commandInfo(c *Ctx) error {
	a := c.Args()
	if !a.More() {
		return command(c)
	}
	c.Out.Array(a.Left())
	for a.More() {
		if r := c.Table.LookupFull(a.Bytes()); r != nil {
			writeInfo(c.Out, r)
		} else {
			c.Out.Null()
		}
	}
	return a.Err()
}

// commandDocs leaves out commands that do not exist.
func commandDocs(c *Ctx) error {
	a := c.Args()
	rows := c.Table.Rows()
	if a.More() {
		rows = nil
		for a.More() {
			if r := c.Table.LookupFull(a.Bytes()); r != nil {
				rows = append(rows, r)
			}
		}
	}
	c.Out.Map(len(rows))
	for _, r := range rows {
		writeDocs(c.Out, r)
	}
	return a.Err()
}

// commandList lists full names, subcommands included.
func commandList(c *Ctx) error {
	a := c.Args()
	keep := func(*Row) bool { return true }
	if a.More() {
		if a.Option() != "FILTERBY" {
			a.Syntax()
		}
		switch word, arg := a.Option(), a.Bytes(); word {
		case "MODULE":
			keep = func(*Row) bool { return false } // there are no modules
		case "ACLCAT":
			category, _ := CategoryByName(arg)
			keep = func(r *Row) bool { return r.cats&category != 0 }
		case "PATTERN":
			keep = func(r *Row) bool { return glob.Match(arg, []byte(r.fullName), true) }
		default:
			a.Syntax()
		}
		if a.More() {
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	names := c.Table.Names(keep)
	c.Out.Array(len(names))
	for _, name := range names {
		c.Out.BulkString(name)
	}
	return nil
}

func commandGetKeys(c *Ctx) error {
	args := c.Args().Rest()
	refs, err := c.keysOf(args)
	if err != nil {
		return err
	}
	c.Out.Array(len(refs))
	for _, ref := range refs {
		c.Out.Bulk(args[ref.Pos])
	}
	return nil
}

func commandGetKeysAndFlags(c *Ctx) error {
	args := c.Args().Rest()
	refs, err := c.keysOf(args)
	if err != nil {
		return err
	}
	c.Out.Array(len(refs))
	for _, ref := range refs {
		c.Out.Array(2)
		c.Out.Bulk(args[ref.Pos])
		writeWords(c.Out, "", ref.Flags.Names())
	}
	return nil
}

// keysOf returns the keys of a call that is given as arguments. If the arguments are invalid, the result is
// no keys for a command that may have no keys, and an error for any other command.
func (c *Ctx) keysOf(args [][]byte) ([]KeyRef, error) {
	_, row := c.Table.find(args)
	switch {
	case row == nil:
		return nil, ErrCommandInvalid
	case !row.TakesKeys():
		return nil, ErrCommandNoKeys
	case !row.Accepts(len(args)):
		return nil, ErrCommandArity
	}
	refs, err := c.Table.KeyRefs(row, args, nil)
	if err == nil && len(refs) == 0 && !row.Flags.Has(NoMandatoryKeys) {
		err = ErrCommandInvalidArgs
	}
	return refs, err
}
