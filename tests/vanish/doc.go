// Package vanish tests what happens to locks when a host disappears silently: its cable is cut, and nothing
// closes its connections. The server runs in one network namespace and its clients in another. Between the
// two is a link that the test makes of a tun device on each side, so that it can delay packets or lose some
// of them. It can also cut the link in one direction or both. This needs no optional features of the kernel.
// A raft group has a host for each member, and a switch instead of the link. A cluster of raft groups has
// three machines, which are hosts with a member of each group.
//
// Programs in visitors use the packages for other languages, each on its own host: `make vanish-clients`.
//
// The tests have the build tag netns and need root and the program ip: `make vanish`.
package vanish
