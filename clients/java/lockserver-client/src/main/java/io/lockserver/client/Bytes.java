package io.lockserver.client;

import java.nio.charset.StandardCharsets;

import io.lettuce.core.codec.StringCodec;

/** Bytes as strings of a character for each byte, so that none is lost that is not UTF-8. */
final class Bytes {
    static final StringCodec CODEC = new StringCodec(StandardCharsets.ISO_8859_1);

    private Bytes() {
    }

    /** The bytes of a text in UTF-8, or of a binary key as {@link Escaped} has it. */
    static String of(String text) {
        return new String(Escaped.bytes(text), StandardCharsets.ISO_8859_1);
    }

    static byte[] array(String bytes) {
        return bytes.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** The text of bytes in UTF-8. */
    static String text(String bytes) {
        return new String(array(bytes), StandardCharsets.UTF_8);
    }
}
