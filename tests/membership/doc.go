// Package membership attacks a raft group: it adds and removes members while members are killed and cut off.
// It owns what is done in which order, and what has to be true afterwards. It must not know how servers are
// run: tests/raft has them in one process, tests/vanish as processes in network namespaces. A new kind of
// step goes into Attack.step; what it needs of the servers goes into Servers.
package membership
