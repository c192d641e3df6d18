package commands

// The errors of Bloom filters that clients see; errors.go has the others. Some of RedisBloom's texts have no
// code.
const (
	ErrBloomNotFound        Error = "ERR not found"
	ErrBloomExists          Error = "ERR item exists"
	ErrBloomFull            Error = "ERR non scaling filter is full"
	ErrBloomCreate          Error = "ERR could not create filter"
	ErrBloomInsert          Error = "ERR problem inserting into filter"
	ErrBloomRate            Error = "ERR bad error rate"
	ErrBloomRateRange       Error = "ERR (0 < error rate range < 1) "
	ErrBloomCapacity        Error = "ERR bad capacity"
	ErrBloomCapacityRange   Error = "ERR (capacity should be larger than 0)"
	ErrBloomNoExpansion     Error = "ERR no expansion"
	ErrBloomExpansion       Error = "ERR bad expansion"
	ErrBloomNonScaling      Error = "Nonscaling filters cannot expand"
	ErrBloomInsertRate      Error = "Bad error rate"
	ErrBloomInsertExpansion Error = "Bad expansion"
	ErrBloomInsertCapacity  Error = "Bad capacity"
	ErrBloomInsertWord      Error = "Unknown argument received"
	ErrBloomInsertRange     Error = "Bad argument received"
	ErrBloomInfo            Error = "Invalid information value"
	ErrBloomPlace           Error = "Second argument must be numeric"
	ErrBloomLoadPlace       Error = "ERR Second argument must be numeric"
	ErrBloomData            Error = "ERR received bad data"
	ErrBloomOffset          Error = "ERR invalid offset - no link found"
	ErrBloomChunk           Error = "ERR invalid chunk - Too big for current filter"
)
