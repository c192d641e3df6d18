// Package vanish shows what becomes of locks when a host vanishes without a word: its cable is cut, and
// nothing closes its connections. The server runs in one network namespace and its clients in another.
// Between the two is a link that the test makes of a tun device on each side, so that it can delay packets
// or lose some of them. It can also cut the link for one direction or both, without anything that a kernel
// may lack. A
// raft group has a host for each member, and a switch in the place of the link.
//
// The tests have the build tag netns and need root and the program ip: `make vanish`.
package vanish
