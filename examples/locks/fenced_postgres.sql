-- The statements of fenced.go on PostgreSQL: make fence-postgres POSTGRES=postgresql://...
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
ROLLBACK;
