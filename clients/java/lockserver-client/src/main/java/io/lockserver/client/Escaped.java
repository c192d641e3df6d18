package io.lockserver.client;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

import io.lettuce.core.codec.StringCodec;
import io.netty.buffer.ByteBuf;

/**
 * UTF-8 in which no byte is lost: a byte that belongs to no character is half of a surrogate pair, U+DC80 to U+DCFF for 0x80 to 0xff, as
 * Python's "surrogateescape" has it. So a binary key is a string that no caller can give: {@link Values} refuses such halves.
 */
final class Escaped extends StringCodec {
    static final Escaped CODEC = new Escaped();
    private static final char FIRST = '\udc80';
    private static final char LAST = '\udcff';
    private static final char UNKNOWN = '\ufffd';

    private Escaped() {
        super(StandardCharsets.UTF_8);
    }

    /** The string of any bytes. */
    static String of(byte[] bytes) {
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder(); // it reports what is malformed
        ByteBuffer in = ByteBuffer.wrap(bytes);
        CharBuffer out = CharBuffer.allocate(bytes.length);
        while (true) {
            CoderResult result = decoder.decode(in, out, true);
            if (result.isUnderflow()) {
                return out.flip().toString();
            }
            for (int i = 0; i < result.length(); i++) {
                out.put((char) (FIRST - 0x80 + (in.get() & 0xff)));
            }
        }
    }

    /** The opposite of {@link #of}. */
    static byte[] bytes(String text) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(text.length());
        int from = 0;
        for (int i = next(text, 0); i < text.length(); i = next(text, i + 1)) {
            out.writeBytes(text.substring(from, i).getBytes(StandardCharsets.UTF_8));
            out.write(text.charAt(i) - FIRST + 0x80);
            from = i + 1;
        }
        out.writeBytes(text.substring(from).getBytes(StandardCharsets.UTF_8));
        return out.toByteArray();
    }

    /** The index of the next half that stands for a byte; the length: there is none. */
    private static int next(String text, int from) {
        for (int i = from; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= FIRST && c <= LAST && (i == 0 || !Character.isHighSurrogate(text.charAt(i - 1)))) {
                return i;
            }
        }
        return text.length();
    }

    @Override
    public void encode(String text, ByteBuf target) {
        if (next(text, 0) == text.length()) {
            super.encode(text, target);
        } else {
            target.writeBytes(bytes(text));
        }
    }

    @Override
    public String decodeKey(ByteBuffer bytes) {
        return decodeValue(bytes);
    }

    @Override
    public String decodeValue(ByteBuffer bytes) {
        String text = super.decodeValue(bytes.duplicate());
        if (text.indexOf(UNKNOWN) < 0) {
            return text;
        }
        byte[] all = new byte[bytes.remaining()];
        bytes.duplicate().get(all);
        return of(all);
    }
}
