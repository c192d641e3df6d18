package commands

import "lockserver/internal/keyevent"

// removeAll calls remove for each of the members and returns how many of them existed.
func removeAll(members [][]byte, remove func(member []byte) bool) (removed int64) {
	for _, member := range members {
		if remove(member) {
			removed++
		}
	}
	return removed
}

// replyRemoved sends the event and the reply of HDEL, SREM and ZREM. gone says that the key was removed with
// its last member.
func (c *Ctx) replyRemoved(key []byte, class keyevent.Class, event string, removed int64, gone bool) {
	if removed > 0 {
		c.NotifyTaken(class, event, key, gone)
	}
	c.Out.Int(removed)
}
