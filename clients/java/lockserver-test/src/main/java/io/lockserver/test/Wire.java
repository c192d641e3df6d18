package io.lockserver.test;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A bare connection that runs one command after the other. */
final class Wire implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;

    private final Socket socket;
    private final InputStream in;

    Wire(String host, int port) throws IOException {
        socket = new Socket(host, port);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(TIMEOUT_MS);
        in = new BufferedInputStream(socket.getInputStream());
    }

    /** Runs a command on a connection of its own. */
    static Object call(String host, int port, String... words) {
        try (Wire wire = new Wire(host, port)) {
            return wire.call(words);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Object call(String... words) throws IOException {
        StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words) {
            text.append('$').append(word.getBytes(StandardCharsets.UTF_8).length).append("\r\n").append(word).append("\r\n");
        }
        socket.getOutputStream().write(text.toString().getBytes(StandardCharsets.UTF_8));
        return reply();
    }

    private Object reply() throws IOException {
        String line = line();
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
                return rest;
            case '-':
                throw new IllegalStateException(rest);
            case ':':
                return Long.valueOf(rest);
            case '$':
                int length = Integer.parseInt(rest);
                if (length < 0) {
                    return null;
                }
                byte[] bytes = in.readNBytes(length + 2);
                return new String(bytes, 0, length, StandardCharsets.UTF_8);
            case '*':
                int count = Integer.parseInt(rest);
                if (count < 0) {
                    return null;
                }
                List<Object> items = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    items.add(reply());
                }
                return items;
            default:
                throw new IOException("no reply: " + line);
        }
    }

    private String line() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int c = in.read(); c != '\r'; c = in.read()) {
            if (c < 0) {
                throw new EOFException("the server has closed the connection");
            }
            text.append((char) c);
        }
        in.read();
        return text.toString();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
