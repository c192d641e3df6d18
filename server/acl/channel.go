package acl

import "slices"

// What happens to subscribers when rights to channels are taken away.

// Channels are those that a user may listen to from now on.
type Channels struct{ patterns []pattern }

// Allows reports whether a channel, or with isPattern a pattern, is among them.
func (c *Channels) Allows(name []byte, isPattern bool) bool {
	return allowsChannel(c.patterns, name, isPattern)
}

// remaining are the channels that are left if there may be some which were allowed before and are not now;
// nil: there are none.
func remaining(before, now *rules) *Channels {
	left := &Channels{}
	for _, s := range now.selectors {
		if s.allChannels {
			return nil
		}
		left.patterns = append(left.patterns, s.channels...)
	}
	kept := func(p pattern) bool {
		return slices.ContainsFunc(left.patterns, func(o pattern) bool { return o.text == p.text })
	}
	for _, s := range before.selectors {
		if s.allChannels || slices.ContainsFunc(s.channels, func(p pattern) bool { return !kept(p) }) {
			return left
		}
	}
	return nil
}
