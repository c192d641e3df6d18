// Package hotkeys finds the keys with the largest sums in a stream of weights, in bounded memory.
//
// It owns the sketch and its error bound. It must not know locks, a clock or the server. It is not safe for
// concurrent use.
//
// The algorithm is that of Misra and Gries ("Finding repeated elements", 1982) with weights, in the form of
// Anderson et al. ("A High-Performance Algorithm for Identifying Frequent Items in Data Streams", 2017). Its
// guarantee is that of Space-Saving with as many counters. The sum of a key is never too high. It is too low
// by at most 1/1024 of the sum of all weights. Each key has two sums, for two measures, so that one look into
// a table serves both. When the table is full, a number is subtracted from all sums of a measure. It is
// chosen so that 1024 sums stay positive, and keys without a positive sum are removed. So a weight for an
// unknown key costs O(1) on average. In a long stream, events with small weights are sampled, and Margin is
// the error that sampling adds. The gap from one sample to the next is random, so most events cost a
// comparison and a decrement.
//
// A weight is small in comparison with the sum of all weights, so the unit does not matter. If the weights
// are the microseconds of very short holds, sampling begins later: with a mean of half a microsecond after
// 131,000 events instead of 65,536. Each event that is not sampled makes the sum larger by more than one part
// in 65,536. So in any stream their number is at most 65,536 times the natural logarithm of the sum, plus
// 65,536 for the events before sampling may begin. If the sum is eleven days, this is two million events,
// which take a twentieth of a second.
package hotkeys
