package server

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// recorder is a connection that keeps what it is sent.
type recorder struct {
	nowhere
	sent bytes.Buffer
}

func (r *recorder) Send(b []byte, _ bool) (bool, error) {
	r.sent.Write(b)
	return false, nil
}

// modelRun plays commands of several clients to a server, and hears what each client is sent.
type modelRun struct {
	t        *testing.T
	srv      *instance
	random   *rand.Rand
	scratch  batch
	sessions []*session
	outputs  []*recorder
}

// say sends a command of a client; the reply, if there is one now, is heard later.
func (r *modelRun) say(client int, words ...string) {
	r.sessions[client].Feed(appendCommand(nil, words...), &r.scratch, nil)
}

// hear returns the next reply of a client, and false if there is none.
func (r *modelRun) hear(client int) (resp.Value, bool) {
	r.sessions[client].Feed(nil, &r.scratch, nil)
	out := &r.outputs[client].sent
	if out.Len() == 0 {
		return resp.Value{}, false
	}
	in := bytes.NewReader(out.Bytes())
	buffered := bufio.NewReader(in)
	v, err := resp.ReadValue(buffered)
	require.NoError(r.t, err)
	out.Next(out.Len() - in.Len() - buffered.Buffered())
	return v, true
}

// hearAll takes all replies of a client.
func (r *modelRun) hearAll(client int) {
	for ok := true; ok; {
		_, ok = r.hear(client)
	}
}

// TestLocksAgainstAModel: of shared and exclusive locks, with upgrades, downgrades and MLOCK, the clients
// that are granted, that wait and that are refused are those of the model.
func TestLocksAgainstAModel(t *testing.T) {
	t.Parallel()
	runPermits(t, testkit.Steps(16, 400), permitShape{locks: 4, owners: 5})
}
