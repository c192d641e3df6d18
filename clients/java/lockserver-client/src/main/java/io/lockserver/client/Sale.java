package io.lockserver.client;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

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
     * @param holdMax how long a hold lasts at most, with all that {@link Sale#extend} adds; null: there is no bound
     */
    public record Terms(long stock, Instant start, Instant end, long limit, Duration hold, String stream, boolean replace, Duration holdMax) {
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
            if (holdMax != null) {
                Values.time(holdMax, "the longest hold");
            }
        }

        /** Terms without a bound for holds. */
        public Terms(long stock, Instant start, Instant end, long limit, Duration hold, String stream, boolean replace) {
            this(stock, start, end, limit, hold, stream, replace, null);
        }

        /** So many pieces, from now on, one for each user. */
        public static Terms of(long stock) {
            return new Terms(stock, null, null, 0, null, null, false);
        }

        /** With so many pieces for each user. */
        public Terms withLimit(long pieces) {
            return new Terms(stock, start, end, Values.number(pieces, 1, "a limit"), hold, stream, replace, holdMax);
        }

        /** An order that is not confirmed within this time is taken back. */
        public Terms withHold(Duration length) {
            return new Terms(stock, start, end, limit, Values.time(length, "a hold"), stream, replace, holdMax);
        }

        /** A hold lasts so long at most, with all that {@link Sale#extend} adds. */
        public Terms withHoldMax(Duration longest) {
            return new Terms(stock, start, end, limit, hold, stream, replace, Values.time(longest, "the longest hold"));
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

    /**
     * A part of a cart.
     *
     * @param voucher the sale
     * @param pieces how many pieces, one at least
     */
    public record Part(String voucher, int pieces) {
        /** Checks the values. */
        public Part {
            Values.name(voucher, "a voucher");
            Values.number(pieces, 1, "a number of pieces");
        }

        /** One piece. */
        public static Part of(String voucher) {
            return new Part(voucher, 1);
        }
    }

    /**
     * What came of a cart.
     *
     * @param outcome SOLD for all parts, or what the sale of the first part that is refused would have said
     * @param refused the part that is refused, counted from 0; -1: all are sold
     */
    public record CartOutcome(Outcome outcome, int refused) {
        /** Whether all parts are sold. */
        public boolean isSold() {
            return refused < 0;
        }
    }

    private final Commands commands;
    private final String voucher;

    /** The voucher was checked. */
    Sale(Commands commands, String voucher) {
        this.commands = commands;
        this.voucher = voucher;
    }

    /**
     * Makes the sale. True: it was made, or there is one with these terms, as after a call whose answer was lost. False: there is another
     * one, which is left alone. With {@code replace} it is sent once.
     */
    public boolean create(Terms terms) {
        long end = commands.deadline();
        return commands.get(make(terms, end), end);
    }

    /** Makes the sale as {@link #create} does, and blocks no thread: the future has the result, or the error. */
    public CompletableFuture<Boolean> createAsync(Terms terms) {
        long end = commands.deadline();
        return commands.promised(make(terms, end), end);
    }

    private CompletableFuture<Boolean> make(Terms terms, long end) {
        List<String> words = new ArrayList<>(List.of("SECKILL.CREATE", voucher, "STOCK", Long.toString(terms.stock)));
        Map<String, Object> same = new HashMap<>(Map.of("total", terms.stock));
        put(words, same, "START", terms.start == null ? null : DelayedEntries.unixMS(terms.start));
        put(words, same, "END", terms.end == null ? null : DelayedEntries.unixMS(terms.end));
        put(words, same, "LIMIT", terms.limit == 0 ? null : terms.limit);
        put(words, same, "HOLD", terms.hold == null ? null : terms.hold.toMillis());
        if (terms.holdMax != null) {
            words.addAll(List.of("HOLDMAX", Long.toString(terms.holdMax.toMillis())));
        }
        same.put("hold-max", terms.holdMax == null ? null : terms.holdMax.toMillis()); // a sale without a bound has no such field
        if (terms.stream != null) {
            words.addAll(List.of("STREAM", terms.stream));
            same.put("stream", terms.stream);
        }
        if (terms.replace) {
            words.add("REPLACE");
            return commands.askOnce(end, words.toArray(String[]::new)).thenApply(made -> true);
        }
        return commands.askAgain(end, words.toArray(String[]::new)).thenApply(made -> true)
                .exceptionallyCompose(error -> isThere(error) ? isSame(same, end) : CompletableFuture.failedFuture(error));
    }

    private static boolean isThere(Throwable error) {
        return Call.cause(error) instanceof ServerException refusal && refusal.getMessage().contains("exists already");
    }

    private CompletableFuture<Boolean> isSame(Map<String, Object> terms, long end) {
        return commands.askAgain(end, "SECKILL.INFO", voucher).thenApply(LockInfo::map)
                .thenApply(there -> terms.entrySet().stream().allMatch(term -> Objects.equals(term.getValue(), there.get(term.getKey()))));
    }

    private static void put(List<String> words, Map<String, Object> same, String option, Long value) {
        if (value != null) {
            words.addAll(List.of(option, value.toString()));
        }
        same.put(option.toLowerCase(Locale.ROOT), value == null ? option.equals("LIMIT") ? Long.valueOf(1) : Long.valueOf(0) : value);
    }

    /** The state of the sale; empty: there is none. */
    public Optional<Info> info() {
        long end = commands.deadline();
        return commands.get(look(end), end);
    }

    /** The state of the sale as {@link #info} has it, without blocking a thread. */
    public CompletableFuture<Optional<Info>> infoAsync() {
        long end = commands.deadline();
        return commands.promised(look(end), end);
    }

    private CompletableFuture<Optional<Info>> look(long end) {
        return commands.askAgain(end, "SECKILL.INFO", voucher).handle((reply, error) -> {
            if (error == null) {
                return Optional.of(info(LockInfo.map(reply)));
            }
            RuntimeException cause = Call.cause(error);
            if (cause instanceof ServerException refusal && refusal.getMessage().startsWith("ERR no such seckill")) {
                return Optional.empty();
            }
            throw cause;
        });
    }

    private static Info info(Map<String, Object> fields) {
        return new Info(String.valueOf(fields.get("state")), LockInfo.number(fields.get("stock"), 0),
                LockInfo.number(fields.get("total"), 0), LockInfo.number(fields.get("sold"), 0), LockInfo.number(fields.get("held"), 0),
                LockInfo.number(fields.get("confirmed"), 0), LockInfo.number(fields.get("buyers"), 0), Collections.unmodifiableMap(fields));
    }

    /** Orders one piece for a user. */
    public Outcome buy(String user, String order) {
        return buy(user, order, 1);
    }

    /** Orders pieces for a user. The same order gets the same answer, however often it is asked. */
    public Outcome buy(String user, String order, int pieces) {
        return outcome(commands.again(order(user, order, pieces)));
    }

    /** Orders pieces as {@link #buy(String, String, int)} does, and blocks no thread: the future has the outcome, or the error. */
    public CompletableFuture<Outcome> buyAsync(String user, String order, int pieces) {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, order(user, order, pieces)).thenApply(Sale::outcome), end);
    }

    private String[] order(String user, String order, int pieces) {
        return new String[] {"SECKILL", voucher, Values.name(user, "a user"), Values.name(order, "an order"), "QTY",
            Long.toString(Values.number(pieces, 1, "a number of pieces"))};
    }

    static Outcome outcome(Object reply) {
        return Outcome.values()[Math.toIntExact((Long) reply)];
    }

    /** Says that an order was paid, which keeps it. True: it is confirmed, by this call or an earlier one. */
    public boolean confirm(String user, String order) {
        long end = commands.deadline();
        return commands.get(settle("SECKILL.CONFIRM", user, order, "paid", end), end);
    }

    /** Says that an order was paid, as {@link #confirm} does, without blocking a thread. */
    public CompletableFuture<Boolean> confirmAsync(String user, String order) {
        long end = commands.deadline();
        return commands.promised(settle("SECKILL.CONFIRM", user, order, "paid", end), end);
    }

    /** Gives an order back. True: it is given back, by this call, an earlier one, or the end of its hold. */
    public boolean cancel(String user, String order) {
        long end = commands.deadline();
        return commands.get(settle("SECKILL.CANCEL", user, order, "gone", end), end);
    }

    /** Gives an order back as {@link #cancel} does, without blocking a thread. */
    public CompletableFuture<Boolean> cancelAsync(String user, String order) {
        long end = commands.deadline();
        return commands.promised(settle("SECKILL.CANCEL", user, order, "gone", end), end);
    }

    /**
     * Gives some pieces of an order back; it stands with the others. True: they came back. False: the order is confirmed or given back, or
     * there is none. It is sent once: after {@link NoConnectionException} they may have come back.
     *
     * @throws ServerException if the order has fewer pieces
     */
    public boolean cancel(String user, String order, int pieces) {
        return isDone(commands.once(part(user, order, pieces)));
    }

    /** Gives some pieces back as {@link #cancel(String, String, int)} does, without blocking a thread. */
    public CompletableFuture<Boolean> cancelAsync(String user, String order, int pieces) {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, part(user, order, pieces)).thenApply(Sale::isDone), end);
    }

    private String[] part(String user, String order, int pieces) {
        return new String[] {"SECKILL.CANCEL", voucher, Values.name(user, "a user"), Values.name(order, "an order"), "QTY",
            Long.toString(Values.number(pieces, 1, "a number of pieces"))};
    }

    /**
     * Has the hold of an order end so long from now, while a payment runs; never earlier than before. False: the order is not held: it is
     * confirmed or given back, or there is none. It is sent again while the server does not answer: the hold counts from the last time.
     *
     * @throws ServerException if the hold would be longer than {@link Terms#holdMax}; nothing has changed then
     */
    public boolean extend(String user, String order, Duration hold) {
        return isDone(commands.again(extension(user, order, hold)));
    }

    /** Makes a hold longer as {@link #extend} does, without blocking a thread. */
    public CompletableFuture<Boolean> extendAsync(String user, String order, Duration hold) {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, extension(user, order, hold)).thenApply(Sale::isDone), end);
    }

    private String[] extension(String user, String order, Duration hold) {
        return new String[] {"SECKILL.EXTEND", voucher, Values.name(user, "a user"), Values.name(order, "an order"),
            Long.toString(Values.time(hold, "a hold").toMillis())};
    }

    private static boolean isDone(Object reply) {
        return Long.valueOf(1).equals(reply);
    }

    /** A reply of 0 may be that to a second sending, so the record of the order is looked at: "paid 2 ann". */
    private CompletableFuture<Boolean> settle(String command, String user, String order, String state, long end) {
        return commands.askAgain(end, command, voucher, Values.name(user, "a user"), Values.name(order, "an order"))
                .thenCompose(reply -> Long.valueOf(1).equals(reply) ? CompletableFuture.completedFuture(true)
                        : commands.askAgain(end, "HGET", "seckill:orders:" + voucher, order)
                                .thenApply(record -> record instanceof String text && text.startsWith(state + " ")));
    }
}
