package acl

import "slices"

// The effect on subscribers when rights to channels are removed.

// Channels holds the channels that a user may subscribe to from now on.
type Channels struct{ patterns []pattern }

// Allows reports whether the user may subscribe to a channel, or with isPattern to a pattern.
func (c *Channels) Allows(name []byte, isPattern bool) bool {
	return allowsChannel(c.patterns, name, isPattern)
}

// remaining returns the allowed channels after a change of the rules. It returns nil if the change has
// removed no channel.
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
