package demo

import (
	"math/rand/v2"
	"strconv"
)

// habit is the behaviour of a user.
type habit uint8

const (
	asksOnce    habit = iota
	clicksTwice       // a second request with another order number, at the same time, over another connection
	resends           // the same order again, although it was answered
	losesAnswer       // the connection breaks before the answer; then the same order over a new connection
)

// The percentage of users with each habit; the other users send one request.
const (
	percentTwice  = 10
	percentResend = 5
	percentLose   = 5
)

// mostLost limits the broken connections, because a machine has a limited number of ports.
const mostLost = 2_000

// request is one order that a user places.
type request struct {
	user   int32
	second bool // the second request of a user who clicks twice
	habit  habit
}

// plan returns all requests in the order in which the connections take them. The two clicks of a user are
// neighbours, so that two connections send them at the same moment.
func plan(o Options) []request {
	chance := rand.New(rand.NewPCG(o.Seed, 0))
	list := make([]request, 0, o.Users+o.Users/percentTwice+1)
	lost := 0
	for _, user := range chance.Perm(o.Users) {
		r := request{user: int32(user)}
		switch p := chance.IntN(100); {
		case p < percentTwice:
			r.habit = clicksTwice
		case p < percentTwice+percentResend:
			r.habit = resends
		case p < percentTwice+percentResend+percentLose && lost < mostLost:
			r.habit = losesAnswer
			lost++
		}
		list = append(list, r)
		if r.habit == clicksTwice {
			r.second = true
			list = append(list, r)
		}
	}
	return list
}

// requests returns the number of answers at the end of a plan. A request with a lost answer is sent twice.
func requests(list []request) int {
	n := len(list)
	for _, r := range list {
		if r.habit == resends {
			n++
		}
	}
	return n
}

// name returns the user's name in the sale.
func (r request) name() string { return "user-" + strconv.Itoa(int(r.user)) }

// order returns the order number of the request, which is unique.
func (r request) order() string {
	n := 2 * int64(r.user)
	if r.second {
		n++
	}
	return strconv.FormatInt(1_000_000_000+n, 10)
}
