// Package durability is what a server keeps over its end: the append-only log as the server sees it, the
// rewriting of the log, snapshots and save points, what a start reads, the claim of the directory, and the
// limit of the fencing tokens.
//
// It owns what is written when, what a reply has to wait for, what is refused once a disk has failed, and who
// may write to a directory. The formats are package persistence's, the log's files and writer are
// persistence/aof's; what waits for a position stands at the gate (server/gate).
//
// It must not know sessions, commands' rows, transports, nor how a unit is executed: of the server it sees
// [Host], and of a client the [Mark] that the client carries. All methods are called under the lock that the
// host executes under, except for those that say otherwise.
//
// To keep something else, write it in a snapshot's AUX field and in a base of commands, as the limit of the
// tokens is; only what must be on disk ahead of use, as that limit, has a file of its own besides. A
// directive that changes what is on disk is obeyed in [Storage.Reconfigure].
package durability
