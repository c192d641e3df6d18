package io.lockserver.client;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** A flash sale, made with {@code SECKILL.CREATE}. All calls are safe to repeat: the server knows an order by its id. */
public final class Sale {
    /** What came of an order, in the order of the server's numbers. */
    public enum Outcome {
        /** Stock was deducted, and the order appended to the stream. */
        SOLD,
        /** There is not enough stock. */
        SOLD_OUT,
        /** The user has all that the limit of the sale allows. */
        BOUGHT_ALREADY,
        /** The sale is not open yet. */
        NOT_STARTED,
        /** The sale is not open any more. */
        OVER,
        /** This order was cancelled, or not confirmed in time: a new one needs a new id. */
        TAKEN_BACK,
        /** The sale has a rate, which does not allow the call now. */
        TOO_FAST
    }

    /**
     * The terms of a sale.
     *
     * @param stock how many pieces there are
     * @param start when it opens; null: at once
     * @param end when it closes; null: when it is sold out
     * @param limit how many pieces a user gets; 0: as the server has it, one
     * @param hold how long an order waits for {@link Sale#confirm}; null: it needs none
     * @param stream the stream of the orders; null: the server's, {@code stream.orders}
     * @param replace whether a sale that is there is replaced, with all that it knows
     */
    public record Terms(long stock, Instant start, Instant end, long limit, Duration hold, String stream, boolean replace) {
        /** Checks the values. */
        public Terms {
            Values.number(stock, 1, "a stock");
            Values.number(limit, 0, "a limit");
            for (Instant time : new Instant[] {start, end}) {
                if (time != null) {
                    DelayedEntries.unixMS(time);
                }
            }
            if (hold != null) {
                Values.time(hold, "a hold");
            }
            if (stream != null) {
                Values.name(stream, "a stream");
            }
        }

        /** So many pieces, from now on, one for each user. */
        public static Terms of(long stock) {
            return new Terms(stock, null, null, 0, null, null, false);
        }

        /** With so many pieces for each user. */
        public Terms withLimit(long pieces) {
            return new Terms(stock, start, end, Values.number(pieces, 1, "a limit"), hold, stream, replace);
        }

        /** An order that is not confirmed within this time is taken back. */
        public Terms withHold(Duration length) {
            return new Terms(stock, start, end, limit, Values.time(length, "a hold"), stream, replace);
        }
    }

    /**
     * A sale.
     *
     * @param state {@code open} and so on, in the server's words
     * @param stock pieces that are left
     * @param fields all fields of SECKILL.INFO
     */
    public record Info(String state, long stock, long total, long sold, long held, long confirmed, long buyers, Map<String, Object> fields) {
    }

    private final Commands commands;
    private final String voucher;

    Sale(Commands commands, String voucher) {
        this.commands = commands;
        this.voucher = Values.name(voucher, "a voucher");
    }

    /**
     * Makes the sale. True: it was made, or there is one with these terms, as after a call whose answer was lost. False: there is another
     * one, which is left alone. With {@code replace} it is sent once.
     */
    public boolean create(Terms terms) {
        List<String> words = new ArrayList<>(List.of("SECKILL.CREATE", voucher, "STOCK", Long.toString(terms.stock)));
        Map<String, Object> same = new HashMap<>(Map.of("total", terms.stock));
        put(words, same, "START", terms.start == null ? null : DelayedEntries.unixMS(terms.start));
        put(words, same, "END", terms.end == null ? null : DelayedEntries.unixMS(terms.end));
        put(words, same, "LIMIT", terms.limit == 0 ? null : terms.limit);
        put(words, same, "HOLD", terms.hold == null ? null : terms.hold.toMillis());
        if (terms.stream != null) {
            words.addAll(List.of("STREAM", terms.stream));
            same.put("stream", terms.stream);
        }
        long deadline = commands.deadline();
        try {
            if (terms.replace) {
                words.add("REPLACE");
                commands.once(deadline, words.toArray(String[]::new));
            } else {
                commands.again(deadline, words.toArray(String[]::new));
            }
            return true;
        } catch (ServerException e) {
            if (!e.getMessage().contains("exists already")) {
                throw e;
            }
            Map<String, Object> there = LockInfo.map(commands.again(deadline, "SECKILL.INFO", voucher));
            return same.entrySet().stream().allMatch(term -> term.getValue().equals(there.get(term.getKey())));
        }
    }

    private static void put(List<String> words, Map<String, Object> same, String option, Long value) {
        if (value != null) {
            words.addAll(List.of(option, value.toString()));
        }
        same.put(option.toLowerCase(Locale.ROOT), value == null ? option.equals("LIMIT") ? Long.valueOf(1) : Long.valueOf(0) : value);
    }

    /** The state of the sale; empty: there is none. */
    public Optional<Info> info() {
        try {
            Map<String, Object> fields = LockInfo.map(commands.again("SECKILL.INFO", voucher));
            return Optional.of(new Info(String.valueOf(fields.get("state")), LockInfo.number(fields.get("stock"), 0),
                    LockInfo.number(fields.get("total"), 0), LockInfo.number(fields.get("sold"), 0), LockInfo.number(fields.get("held"), 0),
                    LockInfo.number(fields.get("confirmed"), 0), LockInfo.number(fields.get("buyers"), 0), Collections.unmodifiableMap(fields)));
        } catch (ServerException e) {
            if (e.getMessage().startsWith("ERR no such seckill")) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** Orders one piece for a user. */
    public Outcome buy(String user, String order) {
        return buy(user, order, 1);
    }

    /** Orders pieces for a user. The same order gets the same answer, however often it is asked. */
    public Outcome buy(String user, String order, int pieces) {
        return Outcome.values()[Math.toIntExact((Long) commands.again("SECKILL", voucher, Values.name(user, "a user"),
                Values.name(order, "an order"), "QTY", Long.toString(Values.number(pieces, 1, "a number of pieces"))))];
    }

    /** Says that an order was paid, which keeps it. True: it is confirmed, by this call or an earlier one. */
    public boolean confirm(String user, String order) {
        return settle("SECKILL.CONFIRM", user, order, "paid");
    }

    /** Gives an order back. True: it is given back, by this call, an earlier one, or the end of its hold. */
    public boolean cancel(String user, String order) {
        return settle("SECKILL.CANCEL", user, order, "gone");
    }

    /** A reply of 0 may be that to a second sending, so the record of the order is looked at: "paid 2 ann". */
    private boolean settle(String command, String user, String order, String state) {
        long end = commands.deadline();
        if (Long.valueOf(1).equals(commands.again(end, command, voucher, Values.name(user, "a user"), Values.name(order, "an order")))) {
            return true;
        }
        Object record = commands.again(end, "HGET", "seckill:orders:" + voucher, order);
        return record instanceof String text && text.startsWith(state + " ");
    }
}
