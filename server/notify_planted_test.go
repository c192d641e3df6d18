package server

import (
	"testing"

	"lockserver/tests/plant"
)

// notifyFaults are mistakes in how owners wait, and are kept alive, without a connection of their own.
var notifyFaults = []plant.Fault{
	plant.New("a prefix matches too much", plant.Insert("prefixes-of", `for text, p := range ps.byText {
		if len(owner) >= 8 && text[:8] == string(owner[:8]) && !visit(p) {
			return
		}
	}
	return`)),
	plant.New("a grant that is not confirmed is not passed on", plant.Omit("pass-on")),
	plant.New("places are lost when the connection ends", plant.Insert("leave-places", `qs.untilMS, qs.gone = 0, true
		ws.Timers.Set(&qs.timer, ws.Store.NowMS())
		return`)),
	plant.New("waits stay in the queue of a server that has become a replica", plant.Insert("demotion", "return false")),
	plant.New("asked again the place is lost", plant.Insert("same-wait", `if old := ws.Queues.Find(c.DB.ID(), wait.Keys[0], wait.Owner, nil); old != nil {
		ws.leaveQueues(old.Call().(*queuedWait), false)
		old.Call().(*queuedWait).Party.Queued.unlink(old.Call().(*queuedWait))
	}`)),
	plant.New("the connection that asks again does not keep the place", plant.Insert("ask-again", `c.Out.Simple("QUEUED")
	return nil`)),
	plant.New("waiters that a unit has no time for are forgotten", plant.Insert("put-off", `if u.served >= u.Most && q.loose == 0 {
		return true
	}`)),
	plant.New("a waiter that others can overtake has to wait for a later unit", plant.Insert("put-off", `if u.served >= u.Most {
		qs.putOff(q)
		return true
	}`)),
	plant.New("pushes go to the wrong owner", plant.Insert("audience", `for o := ws.Queues.Oldest(); o != nil; o = o.Later() {
		others, _ := ws.Watchdog.Attached.All([]byte(o.Owner()))
		for _, p := range others {
			if !slices.Contains(to, p) {
				to = append(slices.Clone(to), p)
			}
		}
	}`)),
}

// The tests of NOTIFY and of LOCK.ATTACH PREFIX notice each mistake, and nothing else.
func TestPlantedFaultsOfNotify(t *testing.T) {
	findPlanted(t, notifyFaults, "TestAttachModel|TestNotify")
}
