package demo

import (
	"math/rand/v2"
	"strconv"
)

// habit is how a user behaves.
type habit uint8

const (
	asksOnce    habit = iota
	clicksTwice       // a second request with an order of its own, at the same time, over another connection
	resends           // the same order again, although it was answered
	losesAnswer       // the connection breaks before the answer; the same order again over a new one
)

// Of a hundred users, so many have the habit; the rest ask once.
const (
	percentTwice  = 10
	percentResend = 5
	percentLose   = 5
)

// mostLost bounds the connections that are broken, because a machine has only so many ports.
const mostLost = 2_000

// request is one order that a user places.
type request struct {
	user   int32
	second bool // the second click
	habit  habit
}

// plan is who asks what, in the order in which the connections take it. The two clicks of a user stand side
// by side, so that two connections send them in the same moment.
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

// requests is how many answers a plan ends with. The one that was lost is asked for once more.
func requests(list []request) int {
	n := len(list)
	for _, r := range list {
		if r.habit == resends {
			n++
		}
	}
	return n
}

// name is how the sale knows a user.
func (r request) name() string { return "user-" + strconv.Itoa(int(r.user)) }

// order is the order number of the request, which is unique.
func (r request) order() string {
	n := 2 * int64(r.user)
	if r.second {
		n++
	}
	return strconv.FormatInt(1_000_000_000+n, 10)
}
