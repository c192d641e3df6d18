package benchkit

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	parse := func(args ...string) (o Options, said string, err error) {
		var stderr strings.Builder
		f := flag.NewFlagSet("x", flag.ContinueOnError)
		no := f.Bool("no", false, "")
		err = o.Parse(f, args, &stderr, func() error {
			if *no {
				return errors.New("no")
			}
			return nil
		})
		return o, stderr.String(), err
	}
	o, said, err := parse("-quick", "-rounds", "5", "-strict", "-binary", "b")
	require.NoError(t, err)
	require.Empty(t, said)
	require.Equal(t, Options{Rounds: 1, Quick: true, Strict: true, Binary: "b"}, o)
	path, err := o.Lockserver(t.Context(), "", nil)
	if err == nil { // a system on which a process can be measured
		require.Equal(t, "b", path)
	}
	for want, args := range map[string]string{"no\n": "-no", "unexpected argument \"x\"\n": "x", "-rounds must be at least 1\n": "-rounds 0"} {
		_, said, err = parse(strings.Fields(args)...)
		require.Equal(t, 2, ExitCode(err))
		require.Equal(t, want, said)
	}
	_, said, err = parse("-h")
	require.Zero(t, ExitCode(err))
	require.Contains(t, said, "-binary")
}

func TestChoose(t *testing.T) {
	names := []string{"SET", "LOCK+UNLOCK", "memory"}
	got, err := Choose("set, lock+UNLOCK,,memory ", names)
	require.NoError(t, err)
	require.Equal(t, names, got)
	got, err = Choose("", names)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = Choose("memory,mem", names)
	require.EqualError(t, err, "-only mem: there are SET, LOCK+UNLOCK, memory")
}
