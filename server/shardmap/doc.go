// Package shardmap knows the shards of a cluster of raft groups: their slots, members and leaders.
//
// Its knowledge is routing, and never ownership: a shard serves a slot only if its own log says so (package
// raft). An old map costs a client a redirection. Each member asks one member of each other shard, once a
// second, and hands on what it knows itself. For each shard the newest statement counts. There is no central
// place. A file keeps the map, so that a start does not begin with nothing.
//
// It must not know the server, nor the replies for clients: package topology has these. Map.SetOwn takes the
// state of the member's own shard, and Map.Attach a function that is called after changes. To add a fact
// about a shard, add it to Shard, and its check to decode.
package shardmap
