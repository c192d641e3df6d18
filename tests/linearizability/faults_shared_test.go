package linearizability

import "lockserver/tests/plant"

// shareFaults are faults of shared locks, of ONCE, and of owners that outlive connections.
var shareFaults = []plant.Fault{
	plant.New("a reader passes a waiting writer", plant.Insert("share-free", `if l.shared {
		return free, nil
	}`)),
	plant.New("a writer goes in beside a reader", plant.Insert("share-free", `if v.owners == 1 && !v.exclusive {
		free = true
	}`)),
	plant.New("a reader goes in beside a writer", plant.Insert("share-free", `if l.shared && !v.plain {
		free = true
	}`)),
	plant.New("an upgrade does not wait for the other readers", plant.Or("share-upgrade", "true")),
	plant.New("an upgrade keeps its token", plant.And("share-token", "v.mine.shared <= 0")),
	plant.New("a downgrade lets a writer in", plant.Insert("downgrade", `removeShares(c, key, v, edit, tellAll, false)
		return 0`)),
	plant.New("the last reader's lease ends with the first one's", plant.Or("key-lease", "endMS < keyMS")),
	plant.New("the watchdog renews one reader only", plant.Insert("renew-share", `if r.in.byKey[r.key].more != nil {
		rs.drop(r)
		return
	}`)),
	plant.New("ONCE counts twice", plant.Or("lock-counts", "true")),
	plant.New("ONCE counts a shared hold twice", plant.Or("share-counts", "true")),
	plant.New("an attached owner's lock is taken back on disconnect",
		plant.And("keep-renewal", "false"), plant.And("keep-share", "false")),
	plant.New("who is attached keeps nothing alive", plant.Or("attached-owner", "true")),
	plant.New("LOCK.DETACH does nothing", plant.Omit("detach")),
	plant.New("LOCK.ATTACH adopts nothing", plant.Or("adopt", "true")),
}
