// Package membership attacks a raft group: it adds and removes members while members are killed and cut off.
// It owns the order of the steps and the conditions that must hold afterwards. It must not know how servers
// are run: in tests/raft they share one process, in tests/vanish they are processes in network namespaces. A
// new kind of step goes into Attack.step; what it needs of the servers goes into Servers.
package membership
