package lockserver.clients;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A bare RESP2 connection, for the commands that no library knows and for looking at what a library has written. */
public final class Raw implements AutoCloseable {
    private final Socket socket;
    private final InputStream in;

    /** An error reply; its message is the text of the reply. */
    public static final class ErrorReply extends RuntimeException {
        private static final long serialVersionUID = 1;

        ErrorReply(String text) {
            super(text);
        }
    }

    /** A connection to the server; its failures are thrown unchecked. */
    public Raw(Server server) {
        try {
            socket = server.certificates() == null ? new Socket(server.host(), server.port())
                    : server.certificates().context("ca", "client").getSocketFactory().createSocket(server.host(), server.port());
            socket.setTcpNoDelay(true);
            socket.setSoTimeout((int) (2 * Await.DEADLINE_MS));
            in = new BufferedInputStream(socket.getInputStream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends one command and waits for its reply: a String, a Long, null or a List of these; throws {@link ErrorReply}. */
    public Object call(Object... words) {
        try {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            out.writeBytes(("*" + words.length + "\r\n").getBytes(StandardCharsets.UTF_8));
            for (Object word : words) {
                byte[] bytes = word.toString().getBytes(StandardCharsets.UTF_8);
                out.writeBytes(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.UTF_8));
                out.writeBytes(bytes);
                out.writeBytes(new byte[] {'\r', '\n'});
            }
            socket.getOutputStream().write(out.toByteArray());
            return reply();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The reply of a command that replies with a map, as a map in its order. */
    public Map<String, Object> map(Object... words) {
        List<?> flat = (List<?>) call(words);
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < flat.size(); i += 2) {
            map.put((String) flat.get(i), flat.get(i + 1));
        }
        return map;
    }

    private Object reply() throws IOException {
        int type = in.read();
        String line = line();
        return switch (type) {
            case '+' -> line;
            case '-' -> throw new ErrorReply(line);
            case ':' -> Long.valueOf(line);
            case '$' -> bulk(Integer.parseInt(line));
            case '*' -> array(Integer.parseInt(line));
            default -> throw new IOException("no RESP2 type: " + type + " " + line);
        };
    }

    private String bulk(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException();
        }
        in.skipNBytes(2);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private List<Object> array(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        List<Object> list = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            list.add(reply());
        }
        return list;
    }

    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\r'; b = in.read()) {
            if (b < 0) {
                throw new EOFException();
            }
            line.write(b);
        }
        in.skipNBytes(1);
        return line.toString(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
