// Package replication copies the data of one server to others, as Redis does it: PSYNC, REPLCONF, REPLICAOF.
//
// It owns the history of the data: its name, its length, and the newest part of its bytes. It also owns the
// replicas of this server, the link to its master, and what is reported about them. A history is a sequence
// of bytes: the effects of each unit, as the append-only file has them. A replica sends on what its master
// sent, byte for byte, so that all replicas in a tree are at places of one history.
//
// It must not know sessions, transports, the log, nor how a command is executed. Of the server it sees
// [NodeServer], of a client [Client], and of a replica's connection [Peer] and [Carrier]. All methods of
// [Node] are called under the lock that the host executes under, unless their documentation says otherwise.
// Bytes are sent to a replica without the lock ([Replica.Send]).
//
// The files:
//   - node.go has the history, stream.go its bytes, input.go the meaning of these bytes.
//   - master.go has the replicas, transfer.go the snapshot that they begin with.
//   - link.go has the link to the master, handshake.go and receive.go what goes over it.
//   - failover.go lets master and replica change places.
//
// To send something else to replicas, make it an effect (package store).
package replication
