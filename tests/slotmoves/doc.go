// Package slotmoves simulates moves of slots between shards, over the protocol of package slotmove, and
// checks that clients cannot tell them from a single key space.
//
// A seed decides everything: the network, the leaders, the clocks, the clients and the moves. Nothing runs
// at the same time as something else. Each shard has a committed log and a leader, with a tail that is lost
// or kept when the leader ends. A leader may also be deposed without hearing of it. A reference executes
// each committed command in a single place, and the data of the shard must be equal to it. Deadlines of the
// reference are in true time, which no shard knows.
//
// The data plane of the simulation stands for the mechanism that is not built yet. The protocol itself is
// the production package. To add a fault, add it to faults and ask for it where the right behaviour is.
package slotmoves
