// Package lockhistory keeps the latest events of locks in a bounded ring of bytes.
//
// It owns the kinds of events, their names on the wire, the layout of the ring and the search in it. It must
// not know the server, sessions, a clock or the data: the caller passes the time and the client with each
// event. It is not safe for concurrent use.
//
// The ring consists of chunks. A chunk holds events one behind the other, as record.go lays them out. The key
// and the owner of an event are kept as a pair. The end of a hold refers to the pair of its grant, which is
// found by the token. If an event has the same pair as the last event of the same client, it refers to that
// pair. The address of a client is kept once in a chunk, in most cases. When all chunks are full, the oldest
// chunk is emptied, with all its events. So an event never refers to a text that is gone, and adding an event
// allocates nothing once all chunks exist. Events have no fixed size, so that more of them fit into the
// memory. A search decodes them from the front of a chunk.
//
// To add a kind of event, add a Kind and its name in kinds.go. To add a reason, add a Reason and its name.
package lockhistory
