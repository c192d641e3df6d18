package io.lockserver.client;

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

    private final Commands commands;
    private final String voucher;

    Sale(Commands commands, String voucher) {
        this.commands = commands;
        this.voucher = Values.name(voucher, "a voucher");
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
