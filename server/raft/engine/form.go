package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// A group forms when all listed members have been asked, and each has an empty disk. Then the member with the
// lowest id writes down the members, with the incarnations of their disks and the id of the group, and calls
// the others. These write nothing before they are called. A majority is not enough: two members that have
// lost their disks would form another group beside the third, which has the data.
//
// The list counts for nothing else. A member that finds data at another one has lost its own, or its list is
// wrong: it waits until the leader of that group calls it.

// awaitsLeader is the text of Status.Waiting for a member with a damaged disk. Such a member forms no
// group, because it was in a group before.
const awaitsLeader = "its disk was damaged, and it waits for the member that leads its group, which gives it all data. Without a majority of members with whole disks " +
	"there is none: see 'A damaged disk' in docs/HA.md"

// form forms the group if this member has to and can do that, and records what it waits for.
func (r *running) form(ctx context.Context) {
	o := &r.of.options
	y := o.Identity
	switch {
	case y.Group() != "":
		r.wait("it was called by the group with the id " + y.Group() + ", and has heard nothing from its leader since")
		return
	case o.damaged.is() != "":
		r.waitBecause(awaitsLeader, true)
		return
	case len(o.Peers) == 0:
		r.wait(raft.AwaitsAdd)
		return
	}
	all := r.of.ask(ctx, except(o.Peers, o.ID))
	var missing []string
	data := false
	for i := range all {
		if all[i].formedWith(o) {
			r.wait(all[i].ID + " has formed a group with this member (id " + all[i].Group + "), and its leader calls this member soon")
			return
		}
	}
	for i := range all {
		data = data || all[i].err == nil && !all[i].Empty || all[i].Damaged != ""
		if why := all[i].unfit(o.Peers); why != "" {
			missing = append(missing, why)
		}
	}
	// plant:form-missing
	if len(missing) > 0 {
		r.waitBecause("no group is formed before all of raft-members are there, with empty disks: "+strings.Join(missing, "; "), data)
		return
	}
	first := slices.MinFunc(o.Peers, func(a, b raft.Peer) int { return strings.Compare(a.ID, b.ID) })
	if first.ID != o.ID {
		r.wait("all of raft-members are there, and " + first.ID + " forms the group")
		return
	}
	if err := r.found(all); err != nil {
		r.wait("the group could not be formed: " + err.Error())
	}
}

// formedWith reports whether a server is in a group that knows this member by the disk that it has. The group
// has just been formed then, and nothing was lost.
func (h *heardOf) formedWith(o *Options) bool {
	if !h.hasData() || h.Damaged != "" || charterOf(h.Founders) != charterOf(o.Peers) {
		return false
	}
	self, known := raft.Find(h.members(), o.ID)
	return known && self.Incarnation == o.Identity.incarnation
}

// hasData reports whether a server is in a group.
func (h *heardOf) hasData() bool { return h.err == nil && (h.Group != "" || !h.Empty) }

// unfit is why a group cannot be formed with a member; empty: it can.
func (h *heardOf) unfit(founders []raft.Peer) string {
	switch name := h.peer.ID + " (" + h.peer.Raft + ")"; {
	case h.err != nil:
		return name + " does not say who it is: " + h.err.Error()
	case h.ID != h.peer.ID:
		return "at " + h.peer.Raft + " is " + h.ID + ", and not " + h.peer.ID
	case h.Empty && h.Group != "":
		return name + " was called by a group (id " + h.Group + ") and has none of its data yet"
	case h.hasData():
		return fmt.Sprintf("%s has the data of a group (id %s). If this member's disk was lost nothing has to be done: the member that leads that group makes this one "+
			"a member again, and until there is one no disk may be removed; if the group is another, give this one a name of its own (raft-group)", name, said(h.Group))
	case h.Damaged != "":
		return name + " had a disk that is damaged, and was in a group: " + h.Damaged
	case charterOf(h.Founders) != charterOf(founders):
		return name + " has other raft-members than this member"
	}
	return ""
}

// found writes down the members. No member has called this one yet: they know no group.
func (r *running) found(others []heardOf) error {
	o := &r.of.options
	empty, err := o.Identity.isEmpty()
	if err != nil {
		return err
	}
	if !empty { // it was written, and the library got an error
		r.loseLog()
		return errLost
	}
	if term, err := o.Stable.GetUint64(keyTerm); err == nil && term > 0 {
		err = o.Stable.SetUint64(keyTerm, 0) // the attempt before came no further
		if err != nil {
			return err
		}
	}
	group := newID()
	var all hraft.Configuration
	for _, p := range o.Peers {
		p.Incarnation = o.Identity.incarnation
		for i := range others {
			if others[i].ID == p.ID {
				p.Incarnation = others[i].Incarnation
			}
		}
		all.Servers = append(all.Servers, hraft.Server{ID: hraft.ServerID(p.ID), Address: configured(p, group)})
	}
	if err := r.await(r.raft.BootstrapCluster(all))(); err != nil {
		return err
	}
	o.Log.Info("raft: a group is formed", "group", group, "members", len(all.Servers))
	return o.Identity.learn(group)
}

// loseLog has the log opened anew.
func (r *running) loseLog() {
	select {
	case r.lost <- struct{}{}:
	default:
	}
}

// sayWaiting is how often the log tells what a server waits for, if that changes.
const sayWaiting = 10 * time.Second

// wait records what this server waits for; empty: it is a member of a group.
func (r *running) wait(text string) { r.waitBecause(text, false) }

// waitBecause is wait; grave says that it is logged at once.
func (r *running) waitBecause(text string, grave bool) {
	w := &r.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	if text == w.text {
		return
	}
	w.text = text
	if text != "" && grave != w.grave {
		w.grave, w.said = grave, time.Time{}
	}
	if text != "" && time.Since(w.said) >= sayWaiting {
		w.said = time.Now()
		r.of.options.Log.Warn("raft: this server is in no group yet: " + text)
	}
}
