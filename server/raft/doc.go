// Package raft makes a server a member of a group: what the leader has replied to any client survives the
// loss of any minority of the members.
//
// It owns what a member is: its role, and what happens to its data when that changes. It also owns the
// contents of log entries and snapshots, what a reply has to wait for, and the command RAFT. It must not know
// how members agree on a log: an [Engine] does that (package engine has the one that programs use). Nor may
// it know sessions, or how a command is executed: the [MemberServer] does that. The package imports nothing
// from outside of the project, so that a program that embeds a server does not get what an engine needs.
//
// The leader executes, and the group remembers. A unit runs on the leader at once, and its effects are added
// to a sequence of bytes. A round (propose.go) makes entries of what has gathered. When these are committed,
// all replies up to the round may be sent. A round without effects proves that the server still leads, which
// is all that a read needs. Followers apply the bytes (apply.go).
//
// Each entry names the place in the history that it goes on from. An entry is void on every member if it does
// not go on from the place that the log has come to. So what a leader has executed on old data can never
// become a part of the history, whatever the timing of elections. This is the invariant that all else rests
// on; Member.applied is that place.
//
// member.go has the roles, takeover.go begins to lead, handover.go hands the lead on, and entry.go has the
// formats. raft_cmd.go has the commands of operators, and check.go compares the data of the members.
// report.go has what members say about themselves, backup.go snapshots that clients read, and offline.go what
// tools read without a server. behind.go and removed.go log warnings about this member. To put something else
// into an entry: entry.go, with a new version.
package raft
