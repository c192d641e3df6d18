package attach

import "lockserver/commands"

// Host is the server as LOCK.ATTACH and LOCK.DETACH see it.
type Host interface {
	// Attach makes the client vouch for owners, and returns how many locks they hold that it may read.
	Attach(c *commands.Ctx, owners [][]byte) (locks int64, err error)
	// Detach ends it.
	Detach(c *commands.Ctx, owners [][]byte) (locks int64)
}

// Rows are the commands. hostOf returns the host of the server that runs one.
func Rows(hostOf func(c *commands.Ctx) Host) []commands.Row {
	const eachLock = "O(N) where N is the number of locks that are held"
	owners := []commands.Arg{commands.Str("owner").Many()}
	return []commands.Row{
		{Name: "lock.attach", Group: commands.Lock, Since: "0.1.0", Flags: commands.Write | commands.NoScript,
			Run: func(c *commands.Ctx) error {
				owners, err := readOwners(c)
				if err != nil {
					return err
				}
				n, err := hostOf(c).Attach(c, owners)
				if err == nil {
					c.Out.Int(n)
				}
				return err
			},
			Summary: "Makes this connection keep the locks of owners alive, and hear of their loss; returns how many they hold.", Complexity: eachLock,
			Databases: commands.Databases{NotOwn: true}, Args: owners},
		{Name: "lock.detach", Group: commands.Lock, Since: "0.1.0", Flags: commands.NoScript,
			Run: func(c *commands.Ctx) error {
				owners, err := readOwners(c)
				if err == nil {
					c.Out.Int(hostOf(c).Detach(c, owners))
				}
				return err
			},
			Summary: "Ends LOCK.ATTACH for owners; returns how many locks they hold.", Complexity: eachLock,
			Databases: commands.Databases{NotOwn: true}, Args: owners},
	}
}

// readOwners reads the owners, of which a call names at least one.
func readOwners(c *commands.Ctx) ([][]byte, error) {
	a := c.Args()
	owners := a.Rest()
	if err := a.Err(); err != nil {
		return nil, err
	}
	for _, owner := range owners {
		if err := commands.CheckOwner(owner); err != nil {
			return nil, err
		}
	}
	return owners, nil
}
