package transport

import (
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// What Close returns from has ended: connections of every kind, their sessions, and the addresses.
func TestEndpointEndsWhatItBegan(t *testing.T) {
	for _, loops := range []int{0, 1, 3} {
		t.Run(fmt.Sprint("loops ", loops), func(t *testing.T) {
			h, place := newPongs(), onOnePort(loops)
			var err error
			place.Port, err = strconv.Atoi(testkit.FreePort(t)) // no other program gets it when it is closed
			require.NoError(t, err)
			e := quiet(h)
			_, err = e.Dial()
			require.ErrorIs(t, err, net.ErrClosed, "it is not open yet")
			require.Nil(t, e.Addr())
			require.NoError(t, e.Listen(place))
			require.ErrorIs(t, e.Listen(place), net.ErrClosed, "once is enough")
			for _, dial := range []func() (net.Conn, error){e.Dial, overPort(e), overPort(e)} {
				require.Equal(t, "+PONG", testkit.Dial(t, dial).Do("PING").String())
			}
			require.Equal(t, 3, h.count())
			e.Close()
			require.Zero(t, h.count())
			_, err = e.Dial()
			require.ErrorIs(t, err, net.ErrClosed)
			_, err = net.DialTimeout("tcp", e.Addr().String(), time.Second)
			require.Error(t, err)
			e.Close()
		})
	}
}

// A client that the host refuses gets the reason, and has no session.
func TestRefusal(t *testing.T) {
	for _, loops := range []int{0, 1} {
		h := newPongs()
		h.refusal = "-ERR not you\r\n"
		e := listening(t, h, onOnePort(loops))
		for _, dial := range []func() (net.Conn, error){e.Dial, overPort(e)} {
			require.Equal(t, "-ERR not you", testkit.Dial(t, dial).Receive().String())
		}
		require.Zero(t, h.count())
	}
}

// A panic of a session, or on its behalf, costs its connection and no other.
func TestPanicCostsItsConnection(t *testing.T) {
	for _, loops := range []int{0, 1} {
		h := newPongs()
		e := listening(t, h, onOnePort(loops))
		for _, dial := range []func() (net.Conn, error){e.Dial, overPort(e)} {
			other, spoilt := testkit.Dial(t, dial), testkit.Dial(t, dial)
			require.Equal(t, "+PONG", spoilt.Do("PING").String())
			spoilt.Send("PANIC")
			_, err := spoilt.Call("PING")
			require.Error(t, err)
			require.Equal(t, "+PONG", other.Do("PING").String())
			require.Eventually(t, func() bool { return h.count() == 1 }, soon, time.Millisecond, "its session is closed")
			other.Close()
			require.Eventually(t, func() bool { return h.count() == 0 }, soon, time.Millisecond)
		}
		require.Equal(t, []any{"asked for", "asked for"}, h.panics)
	}
}
