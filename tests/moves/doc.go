// Package moves attacks moves of slots between shards with real processes. Clients take locks, buy, wait,
// count and plan entries, while slots move to and fro and members are killed, paused and cut off.
//
// Each client writes what it has sent and heard to the history of a key. At the end a judge of each kind of
// key compares the history with what the cluster has. The judges have tests with wrong histories. The seed
// of a run determines the slots, the faults and what each client does. It does not determine the order of
// their requests.
//
// To add a subject, write its judge and wrong histories for it, then the visit that makes its history.
package moves
