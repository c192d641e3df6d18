package io.lockserver.client;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;

/**
 * Any reply: a Long, a String, a Double, a Boolean, null, or a List of them. A map is a list of keys and values in turn.
 * Lettuce's outputs for one type each fail on another type after the server has run the command, so this one is used for all.
 */
final class Reply extends CommandOutput<String, String, Object> {
    /** Lettuce keeps this reply to itself, as that of a transaction. So it is what no other reply was set for. */
    private static final String QUEUED = "QUEUED";

    private final Deque<Frame> open = new ArrayDeque<>();

    private static final class Frame {
        final List<Object> items = new ArrayList<>();
        int left;

        Frame(int left) {
            this.left = left;
        }
    }

    Reply(StringCodec codec) {
        super(codec, QUEUED);
    }

    private void add(Object value) {
        Frame frame = open.peek();
        if (frame == null) {
            output = value;
            return;
        }
        frame.items.add(value);
        frame.left--;
        closeComplete();
    }

    private void closeComplete() {
        while (!open.isEmpty() && open.peek().left == 0) {
            open.pop();
        }
    }

    @Override
    public void multi(int count) {
        if (count < 0) {
            add(null);
            return;
        }
        Frame frame = new Frame(count);
        if (open.isEmpty()) {
            output = frame.items;
        } else {
            open.peek().items.add(frame.items);
            open.peek().left--;
        }
        open.push(frame);
        closeComplete();
    }

    @Override
    public void set(ByteBuffer bytes) {
        add(bytes == null ? null : codec.decodeValue(bytes));
    }

    @Override
    public void setSingle(ByteBuffer bytes) {
        set(bytes);
    }

    @Override
    public void setBigNumber(ByteBuffer bytes) {
        set(bytes);
    }

    @Override
    public void set(long integer) {
        add(integer);
    }

    @Override
    public void set(double number) {
        add(number);
    }

    @Override
    public void set(boolean value) {
        add(value);
    }
}
