// Package durability owns the data that a server keeps after its end. That is the append-only log as the
// server sees it, the rewriting of the log, snapshots and save points, and the reading at a start. It also
// has the claim of the directory and the limit of the fencing tokens.
//
// It owns when data is written, which position a reply waits for, which commands are refused after a disk has
// failed, and the right to write to a directory. Package persistence owns the formats, persistence/aof the
// log's files and their writer. Output that waits for a position is kept by the gate (server/gate).
//
// It must not know sessions, the rows of commands, transports, or how a unit is executed. It sees the server
// as an [Executor], and a client as the [Mark] that the client carries. All methods are called under the lock
// that the host executes under, unless their comments say otherwise.
//
// To keep further data, write it in a snapshot's AUX field and in a base of commands, like the limit of the
// tokens. A separate file is only for data that must be on disk before it is used, as that limit must. A
// directive that changes data on disk is applied in [Storage.Reconfigure].
package durability
