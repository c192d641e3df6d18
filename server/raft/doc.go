// Package raft makes a server a member of a group: what the leader has told anybody survives the loss of any
// minority of the members.
//
// It owns what a member is (its role, and what becomes of its data when that changes), what stands in entries
// of the log and in snapshots, what a reply has to wait for, and the command RAFT. It must not
// know how members agree on a log, which is an [Engine]'s (package engine has the one that programs use), nor
// sessions or how a command is executed, which are the [Host]'s. Nothing here is imported from outside of the
// project, so that who embeds a server does not get what an engine needs.
//
// The leader executes, the group remembers. A unit runs on the leader at once, and its effects are added to a
// row of bytes. A round (propose.go) makes entries of what has gathered, and when these are committed all
// that was replied up to the round may leave; a round with nothing to remember proves that the server still
// leads, which is all that a read needs. Followers apply the bytes (apply.go).
//
// Each entry names the place in the history that it goes on from. One that does not go on where the log has
// come to is void, on every member: so what a leader has executed on data that is not the newest can never
// become a part of the history, whatever the timing of elections. This is the invariant that all else rests
// on; Member.applied is that place.
//
// member.go has the roles, entry.go the formats, raft_cmd.go what operators ask, check.go compares the data
// of the members, behind.go and removed.go say what the log is told of this member. To put something else
// into an entry: entry.go, with a new version.
package raft
