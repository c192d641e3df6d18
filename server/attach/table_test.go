package attach

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// client is a connection.
type client struct {
	name        string
	attachments Attachments[*client]
}

// world is a table with what the server would know beside it.
type world struct {
	*testing.T
	Table[*client]
}

func open(t *testing.T) *world {
	w := &world{T: t}
	w.Open(3)
	return w
}

func (w *world) attach(c *client, owners ...string) {
	for _, owner := range owners {
		w.Attach(c, &c.attachments, []byte(owner))
	}
}

func (w *world) detach(c *client, owner string) (left []string) {
	for _, l := range w.Detach(c, &c.attachments, owner) {
		left = append(left, l.Key)
	}
	return left
}

// hold records a lock.
func (w *world) hold(owner string, db int, key string, token int64) *Lock[*client] {
	w.Hold(w.Owner([]byte(owner)), db, key, token)
	l := w.Find(db, key, owner)
	require.NotNil(w, l)
	return l
}

// doubts takes the doubts out.
func (w *world) doubts() []Doubt {
	n := w.Doubts()
	taken := w.TakeDoubts()
	require.Len(w, taken, n)
	require.Zero(w, w.Doubts())
	return taken
}

func by(o *Owner[*client]) (names []string) {
	for _, c := range o.By {
		names = append(names, c.name)
	}
	return names
}

func never(string) bool { return false }

func only(owner string) func(string) bool { return func(o string) bool { return o == owner } }

func TestAttaching(t *testing.T) {
	w := open(t)
	a, b := &client{name: "a"}, &client{name: "b"}
	require.False(t, w.InUse())
	require.Nil(t, w.Owner([]byte("ann")))
	require.False(t, w.AttachedByOther(a, []byte("ann")), "no other is")

	w.attach(a, "ann", "ben", "ann")
	require.True(t, w.InUse())
	require.Equal(t, []string{"a"}, by(w.Owner([]byte("ann"))), "twice is once")
	require.False(t, w.AttachedByOther(a, []byte("ann")))
	require.True(t, w.AttachedByOther(b, []byte("ann")))
	require.ElementsMatch(t, []string{"ann", "ben"}, a.attachments.Names())
	require.Equal(t, 2, a.attachments.Len())
	require.Equal(t, 2*attachmentBytes+len("annben"), a.attachments.Bytes())
	require.True(t, a.attachments.Has([]byte("ben")))
	require.False(t, b.attachments.Has([]byte("ben")))

	w.attach(b, "ann")
	require.Equal(t, []string{"a", "b"}, by(w.Owner([]byte("ann"))), "in the order in which they came")
	require.True(t, w.AttachedByOther(a, []byte("ann")))

	require.Empty(t, w.detach(b, "ben"), "b was not attached to him")
	require.Equal(t, []string{"a"}, by(w.Owner([]byte("ben"))))
	w.detach(a, "ann")
	require.Equal(t, []string{"b"}, by(w.Owner([]byte("ann"))))
	w.detach(a, "ben")
	w.detach(b, "ann")
	require.False(t, w.InUse())
	for _, c := range []*client{a, b} {
		require.Zero(t, c.attachments.Len())
		require.Zero(t, c.attachments.Bytes())
		require.Empty(t, c.attachments.Names())
	}
}

// The locks of an owner are known until the last attached connection goes, also at keys that others hold.
func TestTheLastDetachForgetsTheLocks(t *testing.T) {
	w := open(t)
	a, b := &client{name: "a"}, &client{name: "b"}
	w.attach(a, "ann", "ben")
	w.attach(b, "ann")
	for i, key := range []string{"x", "y", "z"} {
		w.hold("ann", i, key, int64(i))
	}
	w.hold("ben", 1, "y", 10)
	require.Empty(t, w.detach(a, "ann"), "b is attached to her, too")
	require.NotNil(t, w.Find(1, "y", "ann"))
	require.ElementsMatch(t, []string{"x", "y", "z"}, w.detach(b, "ann"))
	for left := 3; left > 0; left-- { // one lock each time, and ann with the last of them
		require.NotNil(t, w.Owner([]byte("ann")))
		require.Equal(t, left > 1, w.Forget(1))
	}
	require.Nil(t, w.Owner([]byte("ann")))
	for i, key := range []string{"x", "y", "z"} {
		require.Nil(t, w.Find(i, key, "ann"))
	}
	require.Equal(t, []string{"y"}, w.detach(a, "ben"))
}

// Holders at one key, and locks of one owner, are chains; whichever link goes, the others stay.
func TestHoldersAtOneKey(t *testing.T) {
	owners := []string{"ann", "ben", "cat"}
	for _, first := range owners {
		for _, second := range owners {
			if first == second {
				continue
			}
			w, a := open(t), &client{}
			w.attach(a, owners...)
			for i, owner := range owners {
				w.hold(owner, 0, "k", int64(i))
				w.hold(owner, 0, "own "+owner, 9)
			}
			require.Nil(t, w.Find(0, "k", "nobody"))
			require.Nil(t, w.Find(1, "k", "ann"), "another database")
			w.Lose(w.Find(0, "k", first), Deleted)
			w.Lose(w.Find(0, "k", second), Deleted)
			for i, owner := range owners {
				l := w.Find(0, "k", owner)
				if owner == first || owner == second {
					require.Nil(t, l)
					continue
				}
				require.Equal(t, int64(i), l.Token)
				require.ElementsMatch(t, []string{"k", "own " + owner}, w.detach(a, owner))
			}
		}
	}
}

// A reason that was recorded counts, the first of several; what only seemed to be the end is forgotten.
func TestReasons(t *testing.T) {
	key := []byte("k")
	for _, tt := range []struct {
		name   string
		change func(w *world)
		want   Reason
	}{
		{"as it was found", func(w *world) { w.Changed(0, key, never) }, Deleted},
		{"as it was recorded", func(w *world) { w.Because(0, key, Forced) }, Forced},
		{"the first counts", func(w *world) { w.Because(0, key, Expired); w.Because(0, key, Forced) }, Expired},
		{"at another key", func(w *world) { w.Because(0, []byte("l"), Forced) }, Deleted},
		{"in another database", func(w *world) { w.Because(1, key, Forced) }, Deleted},
		{"the owner himself", func(w *world) { w.Because(0, key, Released) }, Released},
		{"a script of the owner's", func(w *world) { w.Changed(0, key, only("ann")) }, Released},
		{"a script of another's", func(w *world) { w.Changed(0, key, only("ben")) }, Deleted},
		{"a script that finds the lease over", func(w *world) { w.Changed(0, key, only("ann")); w.Because(0, key, Expired) }, Expired},
		{"a script after the lease", func(w *world) { w.Because(0, key, Expired); w.Changed(0, key, only("ann")) }, Expired},
		{"still held", func(w *world) { w.Because(0, key, Forced); w.Find(0, "k", "ann").Holds() }, Deleted},
		{"still held, and lost later", func(w *world) {
			w.Because(0, key, Forced)
			w.Find(0, "k", "ann").Holds()
			w.Because(0, key, Expired)
		}, Expired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := open(t)
			w.attach(&client{}, "ann")
			l := w.hold("ann", 0, "k", 1)
			tt.change(w)
			require.Equal(t, tt.want, w.Lose(l, Deleted))
			require.Nil(t, w.Find(0, "k", "ann"))
		})
	}
}

// A lock is doubted once until it was looked at, and again after that.
func TestDoubts(t *testing.T) {
	w := open(t)
	w.attach(&client{}, "ann", "ben")
	w.hold("ann", 0, "k", 1)
	w.hold("ben", 0, "k", 2)
	w.hold("ben", 2, "l", 3)
	require.Empty(t, w.doubts())

	w.Changed(0, []byte("k"), never)
	w.Changed(0, []byte("k"), never)
	w.Changed(0, []byte("nothing"), never)
	w.Changed(1, []byte("k"), never)
	both := []Doubt{{0, "k", "ben"}, {0, "k", "ann"}}
	require.ElementsMatch(t, both, w.doubts())
	require.Empty(t, w.doubts(), "it was looked at")
	w.Changed(0, []byte("k"), never)
	require.ElementsMatch(t, both, w.doubts(), "and may doubt again")

	w.DatabaseChanged(0)
	require.ElementsMatch(t, both, w.doubts())
	w.DatabaseChanged(1)
	require.Empty(t, w.doubts())

	w.Look(1, []byte("new"), []byte("ann"))
	w.Look(1, []byte("new"), []byte("somebody"))
	require.Equal(t, []Doubt{{1, "new", "ann"}}, w.doubts(), "no connection is attached to the other")

	w.Moved(0, []byte("k"), 1, []byte("there"))
	w.Moved(0, []byte("nothing"), 1, []byte("there"))
	require.ElementsMatch(t, []Doubt{{1, "there", "ann"}, {1, "there", "ben"}}, w.doubts())

	w.Swapped(0, 2)
	require.ElementsMatch(t, []Doubt{{2, "k", "ann"}, {2, "k", "ben"}, {0, "l", "ben"}}, w.doubts())
}

// When no connection is attached to any owner, there is nothing to be looked at.
func TestTheLastOneTakesTheDoubtsAlong(t *testing.T) {
	w, a, b := open(t), &client{}, &client{}
	w.attach(a, "ann")
	w.attach(b, "ben")
	w.hold("ann", 0, "k", 1)
	w.Changed(0, []byte("k"), never)
	w.detach(a, "ann")
	require.Equal(t, 1, w.Doubts(), "ben's are looked at with them")
	w.detach(b, "ben")
	require.Empty(t, w.doubts())
}

func TestLoss(t *testing.T) {
	for why, word := range reasons {
		if word == "" {
			continue
		}
		l := LossOf("ann", "a b", 7, Reason(why))
		channel, payload := l.Message()
		require.Equal(t, "__lock__:ann", string(channel))
		require.Equal(t, "lock-lost a b 7 "+word, string(payload))
		require.Equal(t, ">4\r\n$9\r\nlock-lost\r\n$3\r\na b\r\n:7\r\n"+bulk(word), string(l.AppendPush(nil, false)))
		require.Equal(t, ">5\r\n$9\r\nlock-lost\r\n$3\r\na b\r\n:7\r\n"+bulk(word)+bulk("ann"), string(l.AppendPush(nil, true)))
	}
	require.Equal(t, []string{"expired", "forced", "overwritten", "deleted"},
		slices.DeleteFunc(slices.Clone(reasons[:]), func(word string) bool { return word == "" }))
}

func TestAsked(t *testing.T) {
	n := AskedOf("ann", "a b", 7, "a deploy 8")
	channel, payload := n.Message()
	require.Equal(t, "__lock__:ann", string(channel))
	require.Equal(t, "lock-asked a b 7 a deploy 8", string(payload))
	require.Equal(t, ">4\r\n$10\r\nlock-asked\r\n$3\r\na b\r\n:7\r\n"+bulk("a deploy 8"), string(n.AppendPush(nil, false)))
	n.Text = ""
	require.Equal(t, ">5\r\n$10\r\nlock-asked\r\n$3\r\na b\r\n:7\r\n"+bulk("")+bulk("ann"), string(n.AppendPush(nil, true)))
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// Among many holders of one key a change of one of them leaves one doubt, and a reason goes to that one.
func TestOneOfManyHolders(t *testing.T) {
	w := open(t)
	c := &client{name: "c"}
	no := func(string) bool { return false }
	for i := range 50 {
		owner := fmt.Sprint("o", i)
		w.attach(c, owner)
		w.hold(owner, 0, "s", int64(i+1))
	}
	w.hold("o7", 1, "s", 100)
	w.hold("o7", 0, "other", 101)
	w.ChangedFor(0, "s", "o7", no)
	w.ChangedFor(0, "s", "o7", no)
	w.ChangedFor(0, "s", "stranger", no)
	w.ChangedFor(2, "s", "o7", no)
	w.BecauseDoubted(0, []byte("s"), Forced)
	require.Equal(t, []Doubt{{0, "s", "o7"}}, w.doubts())
	require.Equal(t, Forced, w.Lose(w.Find(0, "s", "o7"), Deleted))
	require.Nil(t, w.Find(0, "s", "o7"))
	require.EqualValues(t, 100, w.Find(1, "s", "o7").Token)
	require.EqualValues(t, 101, w.Find(0, "other", "o7").Token)
	for i := range 50 {
		owner := fmt.Sprint("o", i)
		if l := w.Find(0, "s", owner); i != 7 {
			require.EqualValues(t, i+1, l.Token)
			require.Equal(t, Deleted, w.Lose(l, Deleted), owner)
		}
	}
	require.Empty(t, w.locks[0]["s"])
}
