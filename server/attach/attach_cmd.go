package attach

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
)

// Attacher is the part of the server that LOCK.ATTACH and LOCK.DETACH use.
type Attacher interface {
	// Attach attaches the client to owners, or, with prefixes, to all owners that begin with the names. It
	// returns the number of their locks that the client may read.
	Attach(c *commands.Ctx, names [][]byte, prefixes bool) (locks int64, err error)
	// Detach ends the attachments.
	Detach(c *commands.Ctx, names [][]byte, prefixes bool) (locks int64)
}

// Rows returns the commands. hostOf returns the server that runs a command.
func Rows(hostOf func(c *commands.Ctx) Attacher) []commands.Row {
	const eachLock = "O(N) where N is the number of locks that are held; with PREFIX, of those under the prefix"
	owners := []commands.Arg{commands.OneOf("owners", commands.Str("owner").Many(), commands.Str("prefix").Many().After("PREFIX"))}
	return []commands.Row{
		{Name: "lock.attach", Group: commands.Lock, Since: "0.1.0", Flags: commands.Write | commands.NoScript,
			Run: func(c *commands.Ctx) error {
				names, prefixes, err := readOwners(c)
				if err != nil {
					return err
				}
				n, err := hostOf(c).Attach(c, names, prefixes)
				if err == nil {
					c.Out.Int(n)
				}
				return err
			},
			Tips:    []string{"request_policy:all_shards", "response_policy:agg_sum"},
			Summary: "Makes this connection keep the locks of owners alive, and hear of their loss; returns how many they hold.", Complexity: eachLock,
			Databases: commands.Databases{NotOwn: true}, Args: owners},
		{Name: "lock.detach", Group: commands.Lock, Since: "0.1.0", Flags: commands.NoScript,
			Run: func(c *commands.Ctx) error {
				names, prefixes, err := readOwners(c)
				if err == nil {
					c.Out.Int(hostOf(c).Detach(c, names, prefixes))
				}
				return err
			},
			Tips:    []string{"request_policy:all_shards", "response_policy:agg_sum"},
			Summary: "Ends LOCK.ATTACH for owners; returns how many locks they hold.", Complexity: eachLock,
			Databases: commands.Databases{NotOwn: true}, Args: owners},
	}
}

// readOwners reads the owners, or prefixes, of a call, at least one. PREFIX is the option if it is the first
// of several words; alone it is an owner.
func readOwners(c *commands.Ctx) (names [][]byte, prefixes bool, _ error) {
	a := c.Args()
	names = a.Rest()
	if err := a.Err(); err != nil {
		return nil, false, err
	}
	if len(names) > 1 && ascii.EqualFold(names[0], "prefix") {
		names = names[1:]
		for _, p := range names {
			if len(p) < LeastPrefix {
				return nil, false, commands.ErrShortPrefix(LeastPrefix)
			}
		}
		return names, true, nil
	}
	for _, owner := range names {
		if err := commands.CheckOwner(owner); err != nil {
			return nil, false, err
		}
	}
	return names, false, nil
}
