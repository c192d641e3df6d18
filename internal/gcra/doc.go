// Package gcra is the generic cell rate algorithm (ITU-T I.371): at most so many units a period, with bursts.
//
// It owns the arithmetic and the text of a limiter's state. All of it is exact: times are nanoseconds in
// integers, and the part below a nanosecond is a fraction with the rate's count as denominator. So a thousand
// units at a third of a millisecond each take exactly as long as they should.
//
// It must not know the clock, keys, commands or replies: the time is an argument.
//
// The state is one time, the theoretical arrival time (TAT): when the limiter is full again. A unit moves it
// on by period/count. A take is allowed if the TAT is then at most burst*period/count ahead of the time.
//
// A TAT that is further ahead belongs to other terms, or the clock was set back. The limiter is then empty,
// and no more than that: the next take moves the TAT there. So units that a longer period has used up do not
// keep a shorter one shut.
//
// A clock that is set back makes the TAT lie further ahead, which allows less. A clock that is set forward
// counts as time that has passed. So for any row of takes, the sum of their costs is at most the burst and
// what the forward movements of the clock between them are worth.
//
// To add a figure to the answer, derive it in Rate.Take from the two times there.
package gcra
