// Package topology tells clients about the group that a server is a member of, so that they find its leader.
// It does so as a node of a Redis Cluster (CLUSTER, -MOVED), or as a Sentinel (SENTINEL, +switch-master). A
// server outside of a group has no Group, and replies that there is no cluster.
//
// It owns these replies, and the choice of the member for a command. It must not know how the leader is
// chosen, nor anything of the server. The code that chooses calls Group.Update. A command finds its Group and
// the Connection of a client by a function that the server passes in. A ChangeListener is notified of a new
// leader.
//
// The group is one shard: its leader has all 16384 slots and the others are its replicas, so the keys of one
// command need not share a slot.
//
// To add a reply, add its row to cluster_table.go or sentinel_cmd.go. A new fact about a node, as in Redis,
// becomes a field of Member.
package topology
