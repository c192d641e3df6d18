package io.lockserver.tests;

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

/** Three lockservers of which one leads, under Sentinels or as a raft group: the program in tests/fleet/serve. */
final class Fleet implements AutoCloseable {
    private static final Pattern FIELD = Pattern.compile("\"(name|leader)\":\"([^\"]*)\"");
    private static final Pattern ADDRESS = Pattern.compile("\"([\\d.]+:\\d+)\"");
    private static final int END_S = 60;

    final List<String> addresses;
    final String name;
    final String leader;
    private final Process process;
    private final BufferedReader answers;
    private final Writer commands;

    /** form: "replication", or "cluster" or "sentinel" for a group that clients see as that. */
    Fleet(String form, String... conf) throws IOException {
        this(form, null, conf);
    }

    /** One that demands TLS and a user, with a folder of certificates; null: it does not. */
    Fleet(String form, Path certificates, String... conf) throws IOException {
        this(form, certificates, 1, conf);
    }

    /** Groups that are the shards of a cluster. Events are about the first one, which has the first slots. */
    static Fleet shards(int count, String... conf) throws IOException {
        return new Fleet("cluster", null, count, conf);
    }

    private Fleet(String form, Path certificates, int shards, String... conf) throws IOException {
        Path program = Repository.file("bin/fleet");
        if (!Files.exists(program)) {
            throw new IllegalStateException("there is no " + program + ": run 'make fleet'");
        }
        List<String> command = new ArrayList<>(List.of(program.toString()));
        if (!form.equals("replication")) {
            command.addAll(List.of("-group", form));
        }
        if (shards > 1) {
            command.addAll(List.of("-shards", String.valueOf(shards)));
        }
        if (certificates != null) {
            command.addAll(List.of("-secure", certificates.toString()));
        }
        for (String line : conf) {
            command.addAll(List.of("-conf", line));
        }
        command.addAll(Collections.nCopies(3, System.getenv("LOCKSERVER")));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        answers = process.inputReader();
        commands = process.outputWriter();
        String answer = answer();
        addresses = ADDRESS.matcher(answer.replaceFirst("\"leader\".*", "")).results().map(found -> found.group(1)).toList();
        leader = field(answer, "leader");
        name = answer.contains("\"name\"") ? field(answer, "name") : "";
    }

    /** Does something to it, "kill", "pause", "plan" or "strand", and then "mend", and returns who leads then. */
    String act(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
        return field(answer(), "leader");
    }

    private String answer() throws IOException {
        String line = answers.readLine();
        if (line == null || line.startsWith("{\"error\":")) {
            throw new AssertionError("the fleet says " + line);
        }
        return line;
    }

    private static String field(String answer, String name) {
        return FIELD.matcher(answer).results().filter(found -> found.group(1).equals(name)).findFirst().orElseThrow().group(2);
    }

    @Override
    public void close() {
        try {
            commands.close();
            if (!process.waitFor(END_S, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the fleet does not end");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
