package commands

// The errors of limiters that clients see; errors.go has the others.
const (
	ErrLimitRate      Error = "ERR burst, count and period must be positive integers"
	ErrLimitLong      Error = "ERR the burst would take more than a hundred years to come back"
	ErrLimitCost      Error = "ERR COST must be an integer that is 0 or more"
	ErrLimitCostBurst Error = "ERR COST is above the burst, it could never be taken"
	ErrLimitState     Error = "ERR the key does not hold the state of a limiter"
	ErrLimitClock     Error = "ERR the clock shows a time that a limiter cannot hold: only 1970 to 2162"

	// As redis-cell says it, but for its first words.
	ErrThrottleZero     Error = "ERR Zero rates are not supported"
	ErrThrottleNegative Error = "ERR max_burst, count, period and quantity must not be negative"
)
