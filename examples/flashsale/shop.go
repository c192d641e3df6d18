package main

import (
	"encoding/json"
	"log"
	"net/http"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Shop answers clicks. It never waits for the database: an accepted order is in the stream, and a worker
// stores it a moment later.
type Shop struct {
	redis    *redis.Client
	database *Database
	mux      http.ServeMux
}

// NewShop returns the shop's HTTP handler:
//
//	POST /orders                        201: a number for an order that is not placed yet
//	PUT  /sales/{voucher}/orders/{id}   202: accepted; 409: refused, with the reason; 410: it was cancelled
//	GET  /orders/{id}                   200: it is in the database; 404: it is not, or not yet
//
// The page asks for a number when it is loaded, so that a click costs one command. The number also makes the
// click idempotent. A user without an answer, or with a double click, sends the same PUT again and gets the
// same answer. The number of a cancelled order is used up: to order again, the user needs another number.
func NewShop(client *redis.Client, database *Database) *Shop {
	s := &Shop{redis: client, database: database}
	s.mux.HandleFunc("POST /orders", s.number)
	s.mux.HandleFunc("PUT /sales/{voucher}/orders/{id}", s.place)
	s.mux.HandleFunc("GET /orders/{id}", s.look)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// user returns the user of a request. A real shop reads its session here, and does not trust a header of the
// client.
func user(r *http.Request) string { return r.Header.Get("X-User") }

// number replies a number for an order.
func (s *Shop) number(w http.ResponseWriter, r *http.Request) {
	id, err := s.redis.Do(r.Context(), "NEXTID", orderIDs).Int64()
	if err != nil {
		unavailable(w, err)
		return
	}
	// As a string: numbers in JavaScript have only 53 bits.
	answer(w, http.StatusCreated, map[string]string{"order": strconv.FormatInt(id, 10)})
}

// refusals maps the replies of SECKILL other than 0 to the answers of the shop.
var refusals = map[int]struct {
	status int
	reason string
}{
	1: {http.StatusConflict, "sold out"},
	2: {http.StatusConflict, "bought already"},
	3: {http.StatusConflict, "not started"},
	4: {http.StatusConflict, "over"},
	5: {http.StatusGone, "taken back"},
}

// place places an order. It is one command, answered from memory. go-redis may resend it after a network
// error, and the piece is not sold twice, because the order's number is the same.
func (s *Shop) place(w http.ResponseWriter, r *http.Request) {
	if user(r) == "" {
		answer(w, http.StatusUnauthorized, map[string]string{"reason": "who are you?"})
		return
	}
	reply, err := s.redis.Do(r.Context(), "SECKILL", r.PathValue("voucher"), user(r), r.PathValue("id")).Int()
	switch {
	case err != nil && strings.Contains(err.Error(), "no such seckill"):
		answer(w, http.StatusNotFound, map[string]string{"reason": "no such sale"})
	case err != nil && strings.Contains(err.Error(), "another user"):
		answer(w, http.StatusForbidden, map[string]string{"reason": "not your order"})
	case err != nil:
		unavailable(w, err)
	case reply == 0:
		answer(w, http.StatusAccepted, map[string]string{"order": r.PathValue("id")})
	default:
		refusal := refusals[reply]
		answer(w, refusal.status, map[string]string{"reason": refusal.reason})
	}
}

// look replies whether an order is in the database.
func (s *Shop) look(w http.ResponseWriter, r *http.Request) {
	order, found, err := s.database.Find(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		unavailable(w, err)
	case !found || order.User != user(r): // only its user may see an order
		answer(w, http.StatusNotFound, map[string]string{"reason": "no such order yet"})
	default:
		answer(w, http.StatusOK, map[string]string{"order": order.ID, "voucher": order.Voucher})
	}
}

// unavailable answers a request with an unknown result: the client asks again, with the same number.
func unavailable(w http.ResponseWriter, err error) {
	log.Print("shop: ", err)
	answer(w, http.StatusServiceUnavailable, map[string]string{"reason": "try again"})
}

func answer(w http.ResponseWriter, status int, body map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Print("shop: ", err) // the client has disconnected
	}
}
