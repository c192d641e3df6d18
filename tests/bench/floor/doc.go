// Package floor is a server that does nothing: one thread with an epoll loop that reads, counts the requests
// in the bytes and writes +OK for each. It parses no further and has no data. The processor time that it
// takes for some load is what the system takes for these reads and writes: the floor of any server with one
// thread. What a real server takes above it is the server's own work.
//
// It must stay as small as that: no feature, no protocol besides the count. It needs Linux.
package floor
