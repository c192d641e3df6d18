package linearizability

import "lockserver/internal/plant"

// shareFaults are those of locks that are shared, of ONCE, and of owners that outlive connections.
var shareFaults = []plant.Fault{
	plant.New("a reader passes a waiting writer", plant.Instead("commands/lock_shared.go",
		"\treturn free && (first || !c.Host.Awaited(c, key)), nil\n", `
	if l.shared && planted("a reader passes a waiting writer") {
		return free, nil
	}
	return free && (first || !c.Host.Awaited(c, key)), nil
`)),
	plant.New("a writer goes in beside a reader", plant.After("commands/lock_shared.go",
		"\tfree := v.owners == 0 || l.shared && !v.exclusive\n", `
	if planted("a writer goes in beside a reader") && v.owners == 1 && !v.exclusive {
		free = true
	}
`)),
	plant.New("a reader goes in beside a writer", plant.After("commands/lock_shared.go",
		"\tfree := v.owners == 0 || l.shared && !v.exclusive\n", `
	if planted("a reader goes in beside a writer") && l.shared && !v.plain {
		free = true
	}
`)),
	plant.New("an upgrade does not wait for the other readers", plant.Instead("commands/lock_shared.go",
		"\t\treturn l.shared || v.owners == 1, nil\n", `
		return l.shared || v.owners == 1 || planted("an upgrade does not wait for the other readers"), nil
`)),
	plant.New("an upgrade keeps its token", plant.Instead("commands/lock_shared.go",
		"\treturn v.mine.exclusive == 0 && (!l.shared || v.mine.shared == 0)\n", `
	if planted("an upgrade keeps its token") && v.mine.shared > 0 {
		return false
	}
	return v.mine.exclusive == 0 && (!l.shared || v.mine.shared == 0)
`)),
	plant.New("a downgrade lets a writer in", plant.After("commands/lock_shared.go",
		"\t} else if s.exclusive--; s.exclusive == 0 && s.shared > 0 {\n", `
		if planted("a downgrade lets a writer in") {
			removeShares(c, key, v, edit, tellAll, false)
			return 0
		}
`)),
	plant.New("the last reader's lease ends with the first one's", plant.Instead("commands/lock_shared.go",
		"\tcase alone && endMS != keyMS || endMS > keyMS:\n", `
	case planted("the last reader's lease ends with the first one's") && endMS < keyMS:
		edit.Expire(endMS)
	case alone && endMS != keyMS || endMS > keyMS:
`)),
	plant.New("the watchdog renews one reader only", plant.Before("server/watchdog_shares.go",
		"\theld, extended := commands.ExtendLock(", `
	if r.in.byKey[r.key].more != nil && planted("the watchdog renews one reader only") {
		rs.drop(r)
		return
	}
`)),
	plant.New("ONCE counts twice", plant.Instead("commands/lock.go",
		"{ return held.holds == 0 || !l.once }", "{ return held.holds == 0 || !l.once || planted(\"ONCE counts twice\") }")),
	plant.New("ONCE counts a shared hold twice", plant.Instead("commands/lock_shared.go",
		"\t\treturn v.mine.shared == 0 || !l.once\n",
		"\t\treturn v.mine.shared == 0 || !l.once || planted(\"ONCE counts a shared hold twice\")\n")),
	plant.New("an attached owner's lock is taken back on disconnect", plant.Instead("server/watchdog.go",
		"r.Pin && w.attached.Owner(owner) != nil\n",
		"r.Pin && w.attached.Owner(owner) != nil && !planted(\"an attached owner's lock is taken back on disconnect\")\n"),
		plant.Instead("server/watchdog_shares.go", "\t\tif attached.Owner(r.owner) != nil {\n",
			"\t\tif attached.Owner(r.owner) != nil && !planted(\"an attached owner's lock is taken back on disconnect\") {\n")),
	plant.New("who is attached keeps nothing alive", plant.Instead("server/watchdog.go",
		"\to := ex.watchdog.attached.Owner(owner)\n\tif o == nil {\n", `
	o := ex.watchdog.attached.Owner(owner)
	if o == nil || planted("who is attached keeps nothing alive") {
`)),
	plant.New("LOCK.DETACH does nothing", plant.Instead("server/rooms.go",
		"\tfor _, owner := range owners {\n\t\th.executor.detach(s, string(owner))\n", `
	for _, owner := range owners {
		if planted("LOCK.DETACH does nothing") {
			break
		}
		h.executor.detach(s, string(owner))
`)),
	plant.New("LOCK.ATTACH adopts nothing", plant.Instead("server/rooms.go",
		"\t\tif !l.Watched || !s.user", "\t\tif !l.Watched || planted(\"LOCK.ATTACH adopts nothing\") || !s.user")),
}
