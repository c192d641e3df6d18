package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

func TestRequestSize(t *testing.T) {
	for _, argv := range [][]string{{}, {""}, {"PING"}, {"SET", "k", strings.Repeat("x", 9)}, {"a", strings.Repeat("x", 10)},
		{"MSET", strings.Repeat("x", 99), strings.Repeat("y", 100), strings.Repeat("z", 123456)}, make([]string, 11)} {
		sent := fmt.Sprintf("*%d\r\n", len(argv))
		var words [][]byte
		for _, arg := range argv {
			sent += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
			words = append(words, []byte(arg))
		}
		require.Equal(t, len(sent), resp.RequestSize(words))
	}
}
