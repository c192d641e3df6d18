package shop;

/** A flash sale, and the delivery of what was ordered. Many processes run it at the same time, each for many clients. */
public interface Shop extends AutoCloseable {
    /** What came of an order. */
    enum Outcome {
        /** The user has bought one piece. */
        SOLD,
        /** There is no stock left. */
        SOLD_OUT,
        /** The user has an order already. */
        BOUGHT_ALREADY
    }

    /** Opens the sale with so many pieces. One process calls it once. */
    void open(int stock);

    /** Orders one piece. The order's id is chosen by the caller, for each click of the user. */
    Outcome buy(String user, String order) throws InterruptedException;

    /**
     * Runs the work of an order, under a lock of that order.
     *
     * @return false if another worker holds the lock; the work was not run
     */
    boolean deliver(String order, Runnable work) throws InterruptedException;

    /** Ends the connections. */
    @Override
    void close();
}
