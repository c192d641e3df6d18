// Package migration drives the moves of slots of a raft group. It carries out the steps that package slotmove
// asks for. At the source it cuts the data, sends the stream, and holds clients while the slots are frozen.
// At the target it takes the messages of the source, and asks the source for the end of a move.
//
//	Driver    one for each member. Its goroutine does the next step while the member leads
//	outgoing  the knowledge of the source's leader about the move away. A new leader begins without it
//
// The log of the group has the state (slotmove.Table), and package raft applies its entries. A new leader of
// the source cuts the slots anew. If it finds them frozen, it holds all clients until it has written thaw.
//
// The package must know nothing of sessions. The server is a Server. A new step of slotmove is a case in
// Driver.step.
package migration
