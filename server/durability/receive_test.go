package durability

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"lockserver/persistence"
	"lockserver/server/gate"
)

// slowSnapshot is a snapshot that comes when arrived is closed.
type slowSnapshot struct {
	io.Reader
	arrived chan struct{}
	read    bool
}

func (s *slowSnapshot) Read(b []byte) (int, error) {
	s.read = true
	<-s.arrived
	return s.Reader.Read(b)
}

// A snapshot that comes while another one is read waits for the end of that one: the data of two masters is
// never mixed. A link that has been ended may be in the middle of its snapshot.
func TestOneSnapshotAfterTheOther(t *testing.T) {
	for name, aside := range map[string]bool{"aside": true, "in place": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				snapshot := func(key string) *slowSnapshot {
					h := startHost(t, t.TempDir(), nil)
					h.set(new(gate.Mark), key, "v")
					var b bytes.Buffer
					h.Do(func() {
						c := h.storage.Copy(persistence.History{}, true, true)
						defer c.Release()
						require.NoError(t, c.Write(&b))
					})
					return &slowSnapshot{Reader: &b, arrived: make(chan struct{})}
				}
				first, second := snapshot("first"), snapshot("second")
				h := startHost(t, t.TempDir(), nil)
				h.set(new(gate.Mark), "old", "v")
				for _, s := range []*slowSnapshot{first, second} {
					h.Background(func() {
						h.Do(func() {
							_, err := h.storage.Receive(Incoming{From: s, Aside: aside})
							require.NoError(t, err)
						})
					})
					synctest.Wait()
				}
				require.True(t, first.read)
				require.False(t, second.read, "the first one is not over")
				close(first.arrived)
				close(second.arrived)
				h.background.Wait()
				require.False(t, h.storage.Loading())
				require.Equal(t, "v", h.get("second"))
				require.Empty(t, h.get("first"))
				require.Empty(t, h.get("old"))
			})
		})
	}
}
