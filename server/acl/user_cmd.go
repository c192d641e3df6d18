package acl

import (
	"fmt"
	"slices"

	"lockserver/commands"
	"lockserver/internal/resp"
)

func setUser(c *commands.Ctx, h Directory) error {
	name := c.Argv[2]
	if hasSpaces(string(name)) {
		return commands.ErrUserName
	}
	var words []string
	for _, w := range c.Argv[3:] {
		words = append(words, string(w))
	}
	if h.Shared() {
		name = commands.Clone(name)
		return h.Agree(c, func(us *Users) error {
			_, _, err := us.set(name, words)
			return err
		}, func(c *commands.Ctx) { c.Out.OK() })
	}
	u, left, err := h.Users().set(name, words)
	if err != nil {
		return err
	}
	h.Move(Change{Old: u, New: u, Left: left})
	c.Out.OK()
	return nil
}

func delUser(c *commands.Ctx, h Directory) error {
	names := c.Argv[2:]
	if slices.ContainsFunc(names, func(n []byte) bool { return untilZero(string(n)) == DefaultName }) {
		return commands.ErrDefaultUser
	}
	n := int64(0)
	if h.Shared() {
		names = commands.CloneAll(names)
		return h.Agree(c, func(us *Users) error {
			n = 0
			for _, name := range names {
				if us.remove(name) != nil {
					n++
				}
			}
			return nil
		}, func(c *commands.Ctx) { c.Out.Int(n) })
	}
	for _, name := range names {
		if u := h.Users().remove(name); u != nil {
			h.Move(Change{Old: u})
			n++
		}
	}
	c.Out.Int(n)
	return nil
}

func getUser(c *commands.Ctx, h Directory) error {
	u := h.Users().Find(c.Argv[2])
	if u == nil {
		c.Out.Null()
		return nil
	}
	out, r := c.Out, u.rules
	withDBs := r.namesDatabases()
	fields := 3 // of each selector
	if withDBs {
		fields++
	}
	out.Map(3 + fields)
	out.BulkString("flags")
	flags := r.flags()
	out.Set(len(flags))
	for _, f := range flags {
		out.BulkString(f)
	}
	out.BulkString("passwords")
	writeWords(out, r.passwords)
	r.selectors[0].write(out, withDBs)
	out.BulkString("selectors")
	out.Array(len(r.selectors) - 1)
	for _, s := range r.selectors[1:] {
		out.Map(fields)
		s.write(out, withDBs)
	}
	return nil
}

// write writes the fields of a selector in ACL GETUSER.
func (s *selector) write(out *resp.Writer, withDBs bool) {
	for _, text := range []string{"commands", s.commandWords(), "keys", s.keyWords(), "channels", s.channelWords()} {
		out.BulkString(text)
	}
	if withDBs {
		out.BulkString("databases")
		out.BulkString(s.databaseWord())
	}
}

func writeWords(out *resp.Writer, words []string) {
	out.Array(len(words))
	for _, w := range words {
		out.BulkString(w)
	}
}

func list(c *commands.Ctx, h Directory) error {
	lines := h.Users().Lines()
	for i := range lines {
		lines[i] = "user " + lines[i]
	}
	writeWords(c.Out, lines)
	return nil
}

func users(c *commands.Ctx, h Directory) error {
	var names []string
	for _, u := range h.Users().sorted() {
		names = append(names, u.name)
	}
	writeWords(c.Out, names)
	return nil
}

func whoAmI(c *commands.Ctx, h Directory) error {
	c.Out.BulkString(h.Asking().name)
	return nil
}

func load(c *commands.Ctx, h Directory) error {
	if h.File() == "" {
		return commands.ErrNoACLFile
	}
	text, err := h.ReadFile()
	if err != nil {
		return commands.ErrACLLoad(ErrOpen(h.File(), err).Error())
	}
	changes, err := h.Users().Load(h.File(), text, h.PasswordSet())
	if err != nil {
		return err
	}
	for _, change := range changes {
		h.Move(change)
	}
	c.Out.OK()
	return nil
}

// ErrOpen returns the error for an ACL file that cannot be read.
func ErrOpen(path string, cause error) error {
	return fmt.Errorf("Error loading ACLs, opening file '%s': %w", path, cause)
}

func save(c *commands.Ctx, h Directory) error {
	if h.File() == "" {
		return commands.ErrNoACLFile
	}
	if h.WriteFile(h.Users().Encode()) != nil {
		return commands.ErrACLSave
	}
	c.Out.OK()
	return nil
}

func dryRun(c *commands.Ctx, h Directory) error {
	u := h.Users().Find(c.Argv[2])
	if u == nil {
		return commands.ErrUserNotFound(c.Argv[2])
	}
	argv := c.Argv[3:]
	row := h.Lookup().Called(argv)
	switch {
	case row == nil:
		return commands.ErrCommandNotFound(argv[0])
	case !row.Accepts(len(argv)):
		return commands.ErrArity(row.FullName())
	}
	d := h.Checker().Check(u, c.DB, row, argv)
	switch d.Reason {
	case Allowed:
		c.Out.OK()
	case DeniedKey:
		c.Out.BulkString(fmt.Sprintf("User %s has no permissions to access the '%s' key", u.name, d.Object))
	case DeniedChannel:
		c.Out.BulkString(fmt.Sprintf("User %s has no permissions to access the '%s' channel", u.name, d.Object))
	case DeniedDatabase:
		c.Out.BulkString(fmt.Sprintf("User %s has no permissions to access database %s", u.name, d.Object))
	default:
		c.Out.BulkString(fmt.Sprintf("User %s has no permissions to run the '%s' command", u.name, d.Row.FullName()))
	}
	return nil
}
