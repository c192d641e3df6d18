// Package slotdata carries the data of slots from one shard to another, while the first shard serves them.
//
//   - Slots is a set of slots. It tells for a key whether it moves.
//   - Send writes the pieces of a cut (store.Snapshot): the keys of the slots, with all that belongs to them.
//   - Stream is a journal of the source. It narrows each unit after the cut to the effects on the slots.
//   - Staging is a store beside the data of the target. It takes the pieces and the units, and at the end it
//     becomes data.
//   - Sum is a digest of the pieces and units, which both ends keep.
//   - Cleaning deletes the keys of dropped slots in steps.
//
// There is no index of keys by slot: a cut is read without the lock of the shard, so Send looks at all keys
// (decision 0033).
//
// The package knows the store and the files, and neither the log of a group, nor messages, nor clients. Which
// entry asks for which step is package slotmove's. To add an effect to store/effects.go, add its keys in
// touched.
package slotdata
