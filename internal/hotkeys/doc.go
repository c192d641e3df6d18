// Package hotkeys finds the keys with the largest sums in a stream of weights, in bounded memory.
//
// It owns the sketch and its error bound. It must not know locks, a clock or the server. It is not safe for
// concurrent use.
//
// The algorithm is that of Misra and Gries ("Finding repeated elements", 1982) with weights, in the form of
// Anderson et al. ("A High-Performance Algorithm for Identifying Frequent Items in Data Streams", 2017). Its
// guarantee is that of Space-Saving with as many counters. The sum of a key is never too high. It is at most
// 1/1024 of the sum of all weights too low. Each key has two sums, of two measures, so that one look into a
// table serves both. When the table is full, so much is taken off all sums of a measure that 1024 of them
// stay positive, and keys without a positive sum go. So a weight for an unknown key costs O(1) on average. In
// a long stream, events with small weights are sampled; Margin is what that may change. The gap from one
// sample to the next is random, so most events cost a comparison and a decrement.
//
// A weight is small beside the sum of all weights, whatever its unit. If the weights are the microseconds of
// very short holds, sampling begins later: with a mean of half a microsecond after 131,000 events instead of
// 65,536. Each event that is not sampled makes the sum larger by more than one part in 65,536. So in any
// stream their number is at most 65,536 times the natural logarithm of the sum, and 65,536 more for the
// events before sampling may begin. If the sum is eleven days these are two million events. They take a
// twentieth of a second.
package hotkeys
