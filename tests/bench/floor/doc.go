// Package floor is a server that does nothing: one thread with an epoll loop that reads, counts the requests
// in the bytes and writes +OK for each. It parses no further and has no data. Its processor time is that of
// the system for these reads and writes: the floor of any server with one thread. The processor time of a
// real server above it is the server's own work.
//
// It must stay that small: no features, and no protocol except the count. It needs Linux.
package floor
