package shop;

import java.io.IOException;

/** A process that delivers an order and does not end by itself: VERSION host port order. */
final class Worker {
    private Worker() {
    }

    public static void main(String[] arguments) throws Exception {
        try (Shop shop = Version.valueOf(arguments[0]).connect(arguments[1], Integer.parseInt(arguments[2]))) {
            shop.deliver(arguments[3], Worker::work);
        }
    }

    private static void work() {
        System.out.println("at work");
        try {
            System.in.read();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
