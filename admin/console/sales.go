package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

const salesAPage = "24"

// salePage is the list of sales.
type salePage struct {
	DB        int
	Databases databaseNav
	Query     string
	Sales     []saleView
	Next      string
	First     bool
}

// saleView is one sale, in pieces.
type saleView struct {
	DB                                  int
	Shard                               int // 0: the server has no shards
	Voucher, State                      string
	Stock, Total, Sold, Held, Confirmed int64
	Buyers, Limit                       int64
	StartMS, EndMS                      int64
	Stream                              string
	StreamLength                        int64
	Groups                              []groupView
	Problem                             string // why the sale cannot be shown
	Ending                              []holdView
}

// holdsPrefix is the beginning of the names of the sorted sets with the holds of sales.
const holdsPrefix = "seckill:holds:"

// holdsShown is the number of holds of a sale that are shown, the first to end.
const holdsShown = 3

// holdView is an order that is held.
type holdView struct {
	Order  string
	EndsMS int64
}

// groupView is a consumer group that reads the orders.
type groupView struct {
	Name         string
	Pending, Lag int64
	LagKnown     bool
}

// NextLink is the address of the next page.
func (p *salePage) NextLink() string {
	return "/sales?" + url.Values{"db": {strconv.Itoa(p.DB)}, "cursor": {p.Next}, "q": {p.Query}}.Encode()
}

// Series is the name of the sale's chart.
func (s *saleView) Series() string { return SaleSeries(s.DB, s.Voucher) }

// SaleSeries is the name of the chart of a sale: its stock, and what is sold, held and confirmed.
func SaleSeries(db int, voucher string) string { return "sale:" + strconv.Itoa(db) + ":" + voucher }

// loadSales is the page of the sales of a database.
func loadSales(who *viewer, r *http.Request) (any, error) {
	q := r.URL.Query()
	cursor := q.Get("cursor")
	p := &salePage{DB: database(r), Query: strings.TrimSpace(q.Get("q")), First: cursor == ""}
	if cursor == "" {
		cursor = "0"
	}
	list := []string{"SECKILL.LIST", cursor, "COUNT", salesAPage}
	if p.Query != "" {
		list = []string{"SECKILL.LIST", cursor, "COUNT", "1000", "MATCH", pattern(p.Query)}
	}
	replies, err := who.conn.All([]string{"SELECT", strconv.Itoa(p.DB)}, list)
	if err == nil {
		err = call.Failure(replies...)
	}
	if err != nil {
		return nil, err
	}
	if p.Next = replies[1].Elems[0].Str; p.Next == "0" {
		p.Next = ""
	}
	var commands [][]string
	for _, voucher := range replies[1].Elems[1].Elems {
		commands = append(commands, []string{"SECKILL.INFO", voucher.Str})
	}
	infos, err := who.conn.All(commands...)
	if err != nil {
		return nil, err
	}
	for i, v := range infos {
		sale := newSaleView(p.DB, commands[i][1], v)
		sale.Shard = who.conn.ShardOf(sale.Voucher)
		p.Sales = append(p.Sales, sale)
	}
	p.Databases = databases(who, "/sales", p.DB)
	return p, p.readHolds(who)
}

// readHolds reads the holds of each sale that end next, if the user may read them.
func (p *salePage) readHolds(who *viewer) error {
	var commands [][]string
	var of []*saleView
	for i := range p.Sales {
		s := &p.Sales[i]
		if ask := []string{"ZRANGE", holdsPrefix + s.Voucher, "0", strconv.Itoa(holdsShown - 1), "WITHSCORES"}; s.Held > 0 && who.may(ask...) {
			commands, of = append(commands, ask), append(of, s)
		}
	}
	if len(commands) == 0 {
		return nil
	}
	replies, err := who.conn.All(commands...)
	if err != nil {
		return err
	}
	for i, v := range replies {
		for _, pair := range v.Elems {
			if len(pair.Elems) == 2 {
				of[i].Ending = append(of[i].Ending, holdView{pair.Elems[0].Str, int64(pair.Elems[1].Float)})
			}
		}
	}
	return nil
}

func newSaleView(db int, voucher string, v resp.Value) saleView {
	if v.IsError() {
		return saleView{DB: db, Voucher: voucher, State: "unknown", Problem: v.Str}
	}
	f := call.FieldsOf(v)
	s := saleView{DB: db, Voucher: voucher, State: f.Text("state"), Stock: f.Int("stock"), Total: f.Int("total"), Sold: f.Int("sold"),
		Held: f.Int("held"), Confirmed: f.Int("confirmed"), Buyers: f.Int("buyers"), Limit: f.Int("limit"),
		StartMS: f.Int("start"), EndMS: f.Int("end"), Stream: f.Text("stream"), StreamLength: f.Int("stream-length")}
	for _, g := range f["groups"].Elems {
		f := call.FieldsOf(g)
		s.Groups = append(s.Groups, groupView{Name: f.Text("name"), Pending: f.Int("pending"), Lag: f.Int("lag"), LagKnown: !f["lag"].IsNull()})
	}
	return s
}

// salePoints returns the values for the charts of sales at each second: the time, stock, sold, held and
// confirmed.
func salePoints(who *viewer, body any) map[string][]float64 {
	points, now := make(map[string][]float64), who.seconds()
	for _, s := range body.(*salePage).Sales {
		if s.Problem == "" {
			points[s.Series()] = []float64{now, float64(s.Stock), float64(s.Sold), float64(s.Held), float64(s.Confirmed)}
		}
	}
	return points
}
