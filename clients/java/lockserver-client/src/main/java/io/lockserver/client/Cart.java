package io.lockserver.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** Pieces of several sales that are bought in one step, under one order id and one hold: all parts, or none. */
final class Cart {
    /** How many parts the server takes. */
    private static final int MOST_PARTS = 64;

    private final Commands commands;

    Cart(Commands commands) {
        this.commands = commands;
    }

    Sale.CartOutcome buy(String user, String order, List<Sale.Part> parts) {
        return outcome(commands.again(words(user, order, parts)));
    }

    CompletableFuture<Sale.CartOutcome> buyLater(String user, String order, List<Sale.Part> parts) {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, words(user, order, parts)).thenApply(Cart::outcome), end);
    }

    private static String[] words(String user, String order, List<Sale.Part> parts) {
        int count = Objects.requireNonNull(parts, "the parts are null").size();
        if (count < 1 || count > MOST_PARTS) {
            throw new IllegalArgumentException(count + " parts of a cart, and it has 1 to " + MOST_PARTS);
        }
        List<String> words = new ArrayList<>(List.of("SECKILL.CART", Values.name(user, "a user"), Values.name(order, "an order"), Integer.toString(count)));
        for (Sale.Part part : parts) {
            words.addAll(List.of(Objects.requireNonNull(part, "a part is null").voucher(), Integer.toString(part.pieces())));
        }
        return words.toArray(String[]::new);
    }

    /** Takes the reply: 0, or the place of the part that is refused, from 1, and the answer of its sale. */
    private static Sale.CartOutcome outcome(Object reply) {
        return reply instanceof List<?> refusal && refusal.size() == 2 && refusal.get(0) instanceof Long place
                ? new Sale.CartOutcome(Sale.outcome(refusal.get(1)), Math.toIntExact(place) - 1)
                : new Sale.CartOutcome(Sale.outcome(reply), -1);
    }
}
