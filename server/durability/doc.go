// Package durability is what a server keeps over its end. That is the append-only log as the server sees it,
// the rewriting of the log, snapshots and save points, and what a start reads. It also has the claim of the
// directory and the limit of the fencing tokens.
//
// It owns what is written when, what a reply has to wait for, what is refused once a disk has failed, and the
// right to write to a directory. Package persistence owns the formats, persistence/aof the log's files and
// their writer. Output that waits for a position is kept by the gate (server/gate).
//
// It must not know sessions, commands' rows, transports, nor how a unit is executed. Of the server it sees
// [Executor], and of a client the [Mark] that the client carries. All methods are called under the lock that
// the host executes under, unless their documentation says otherwise.
//
// To keep something else, write it in a snapshot's AUX field and in a base of commands, as the limit of the
// tokens is. A separate file is only for what must be on disk ahead of use, as that limit must. A directive
// that changes what is on disk is applied in [Storage.Reconfigure].
package durability
