// Package replication makes the data of one server that of others, as Redis does it: PSYNC, REPLCONF,
// REPLICAOF.
//
// It owns the history of the data (its name, how long it is, the newest part of its bytes), who follows this
// server, whom it follows, and what is said of all that. A history is a row of bytes: the effects of each
// unit, as the append-only file has them. A server that follows another hands on what it was sent, byte for
// byte, so that all of a tree of replicas are at places of one history.
//
// It must not know sessions, transports, the log, nor how a command is executed: of the server it sees
// [Host], of a client [Client], and of a client that follows this server [Peer] and [Carrier]. All methods of
// [Node] are called under the lock that the host executes under, except for those that say otherwise; what is
// sent to a replica is sent without it ([Replica.Send]).
//
// node.go has the history, stream.go its bytes, master.go those who follow, transfer.go the snapshot that
// they begin with, link.go whom the server follows, handshake.go and receive.go what is said there, input.go
// what the bytes of a history mean, failover.go how master and replica change places. To ship something else
// to replicas, make it an effect (package store).
package replication
