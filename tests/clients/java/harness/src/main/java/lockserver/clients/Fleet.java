package lockserver.clients;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Three lockservers of which one leads, with the Sentinels that see to it, or as a raft group: {@code bin/fleet}, the
 * program in {@code tests/fleet/serve}.
 */
public final class Fleet implements AutoCloseable {
    private static final Pattern FIELD = Pattern.compile("\"(name|leader)\":\"([^\"]*)\"");
    private static final Pattern ADDRESS = Pattern.compile("\"([\\d.]+:\\d+)\"");

    private final Process process;
    private final BufferedReader answers;
    private final Writer commands;
    private final String name;
    private final List<String> sentinels;
    private final List<String> nodes;

    /** Starts it, and returns once all know each other; the lines are of the lockservers' configuration. */
    public Fleet(String... conf) {
        this(List.of(), conf);
    }

    /** Starts a raft group, whose clients see a "cluster", or ask a "sentinel", which each member is. */
    public static Fleet group(String form, String... conf) {
        return new Fleet(List.of("-group", form), conf);
    }

    private Fleet(List<String> form, String... conf) {
        Path program = Server.root().resolve("bin/fleet");
        if (!Files.exists(program)) {
            throw new IllegalStateException("there is no " + program + ": run 'make fleet'");
        }
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(form);
        for (String line : conf) {
            command.addAll(List.of("-conf", line));
        }
        command.addAll(Collections.nCopies(3, Server.program().toString()));
        try {
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        answers = process.inputReader();
        commands = process.outputWriter();
        String answer = answer();
        name = field(answer, "name");
        List<String> addresses = ADDRESS.matcher(answer.replaceFirst("\"leader\".*", "")).results().map(found -> found.group(1)).toList();
        boolean cluster = answer.contains("\"nodes\":");
        sentinels = cluster ? List.of() : addresses;
        nodes = cluster ? addresses : List.of();
    }

    /** What the Sentinels call the master. */
    public String name() {
        return name;
    }

    /** The addresses of the Sentinels, each a host and a port with a colon. */
    public List<String> sentinels() {
        return sentinels;
    }

    /** The addresses of the nodes, if clients see a cluster; empty: they ask Sentinels. */
    public List<String> nodes() {
        return nodes;
    }

    /**
     * Does something to it, waits until that is done, and returns who leads then.
     *
     * @param command "kill", "pause" or "plan", and then "mend"; in the end "same", which fails if the data are not
     */
    public String act(String command) {
        try {
            commands.write(command + "\n");
            commands.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return field(answer(), "leader");
    }

    private String answer() {
        try {
            String line = answers.readLine();
            if (line == null) {
                throw new AssertionError("the fleet has ended");
            }
            if (line.startsWith("{\"error\":")) {
                throw new AssertionError(line.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\""));
            }
            return line;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String field(String answer, String name) {
        return FIELD.matcher(answer).results().filter(found -> found.group(1).equals(name)).findFirst().orElseThrow().group(2);
    }

    /** Ends all of its processes. */
    @Override
    public void close() {
        try {
            commands.close();
            if (!process.waitFor(Await.DEADLINE_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("the fleet does not end");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
