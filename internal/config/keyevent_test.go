package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyevent"
)

func TestNotificationsAreParsed(t *testing.T) {
	for _, tt := range []struct{ in, out string }{ // as CONFIG GET of Redis 7.4 answers, except for n beside A
		{"", ""}, {"KEA", "AKE"}, {"AKE", "AKE"}, {"KEAm", "AKEm"}, {"KEg$lshzxetd", "AKE"}, {"E", "E"}, {"x", "x"},
		{"Kx", "xK"}, {"KEx", "xKE"}, {"Kn", "nK"}, {"Em", "Em"}, {"KEgx", "gxKE"}, {"tgzhslKExe$dA", "AKE"},
		{"KEAn", "AnKE"}, {"tzshl$g", "g$lshzt"}, {"KKxx", "xK"},
	} {
		c, ok := keyevent.Parse(tt.in)
		require.True(t, ok, tt.in)
		require.Equal(t, tt.out, c.String(), tt.in)
		again, ok := keyevent.Parse(c.String())
		require.True(t, ok)
		require.Equal(t, c, again, tt.in)
	}
	for _, bad := range []string{"KEq", "K E", "a", "k", "KE\x00"} {
		_, ok := keyevent.Parse(bad)
		require.False(t, ok, bad)
	}
}

func TestEffectiveNotifications(t *testing.T) {
	require.Zero(t, (keyevent.All | keyevent.New | keyevent.Miss).Effective())
	require.Equal(t, keyevent.Keyevent|keyevent.Expired, (keyevent.Keyevent | keyevent.Expired).Effective())
}
