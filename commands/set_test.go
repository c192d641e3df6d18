package commands

import "testing"

func TestSetScript(t *testing.T) {
	playScript(t, "testdata/set.script", SetRows, HashRows, StringRows)
}
