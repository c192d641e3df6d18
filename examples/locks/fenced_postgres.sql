-- The statements of fenced.go, and those of docs/LOCKS.md, on PostgreSQL: make fence-postgres POSTGRES=postgresql://...
-- Each check divides by zero if it fails, which ends psql with an error.
\set ON_ERROR_STOP on
BEGIN;
CREATE TEMPORARY TABLE prices (
	item  TEXT PRIMARY KEY,
	price INTEGER NOT NULL,
	fence BIGINT NOT NULL
);
PREPARE raise (text, bigint) AS
		INSERT INTO prices (item, price, fence) VALUES ($1, 0, $2)
		ON CONFLICT (item) DO UPDATE SET fence = excluded.fence WHERE prices.fence <= excluded.fence
		RETURNING price;
PREPARE write (integer, text, bigint) AS
UPDATE prices SET price = $1 WHERE item = $2 AND fence = $3;

-- A reads; B, whose token is higher, reads; A writes in vain, B writes.
EXECUTE raise ('shoe', 1795226281904471);
SELECT 1 / (:ROW_COUNT = 1)::int AS a_reads;
EXECUTE raise ('shoe', 1795226281904472);
SELECT 1 / (:ROW_COUNT = 1)::int AS b_reads;
EXECUTE write (1, 'shoe', 1795226281904471);
SELECT 1 / (:ROW_COUNT = 0)::int AS a_is_refused;
EXECUTE raise ('shoe', 1795226281904471);
SELECT 1 / (:ROW_COUNT = 0)::int AS a_cannot_read;
EXECUTE write (2, 'shoe', 1795226281904472);
SELECT 1 / (:ROW_COUNT = 1)::int AS b_writes;
EXECUTE raise ('shoe', 1795226281904472);
SELECT 1 / (:ROW_COUNT = 1)::int AS b_reads_again;
SELECT 1 / (price = 2 AND fence = 1795226281904472)::int AS as_b_left_it FROM prices;

CREATE TEMPORARY TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0);
INSERT INTO account (id, balance) VALUES (7, 100), (8, 100);
PREPARE page_raise AS
UPDATE account SET fence = $1 WHERE id = $2 AND fence <= $1;
PREPARE page_write AS
UPDATE account SET balance = $1 WHERE id = $2 AND fence = $3;
EXECUTE page_raise (1795226281904471, 7);
SELECT 1 / (:ROW_COUNT = 1)::int AS a_reads;
EXECUTE page_raise (1795226281904472, 7);
SELECT 1 / (:ROW_COUNT = 1)::int AS b_reads;
EXECUTE page_write (110, 7, 1795226281904471);
SELECT 1 / (:ROW_COUNT = 0)::int AS a_is_refused;
EXECUTE page_raise (1795226281904471, 7);
SELECT 1 / (:ROW_COUNT = 0)::int AS a_cannot_read;
EXECUTE page_write (120, 7, 1795226281904472);
SELECT 1 / (:ROW_COUNT = 1)::int AS b_writes;
EXECUTE page_raise (1795226281904472, 7);
SELECT 1 / (:ROW_COUNT = 1)::int AS b_reads_again;
SELECT 1 / (balance = 120 AND fence = 1795226281904472)::int AS as_b_left_it FROM account WHERE id = 7;
ROLLBACK;
