package call

// JoinHot and JoinInfo are for the tests, which are in a package of their own because they need a server.
var (
	JoinFigures = joinFigures
	JoinHot     = joinHot
	Listings    = listings
	JoinInfo    = joinInfo
)
