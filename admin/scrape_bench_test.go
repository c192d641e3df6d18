package admin

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// BenchmarkScrape has a thousand sales, the only thing that makes a scrape longer.
func BenchmarkScrape(b *testing.B) {
	srv, err := server.New(server.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	c := testkit.Dial(b, srv.Dial)
	for i := range 1000 {
		name := strconv.Itoa(i)
		c.Do("SECKILL.CREATE", name, "STOCK", "100", "HOLD", "3600000", "STREAM", "orders:"+name)
		c.Do("XGROUP", "CREATE", "orders:"+name, "workers", "0", "MKSTREAM")
	}
	h := metricsHandler([]Source{srv}, slog.New(slog.DiscardHandler))
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
}
