import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import io.lockserver.client.ClientClosedException;
import io.lockserver.client.DeadlockException;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockReleasedException;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.ServerException;

/** The agent of the client package for Java: it does what the runner of tests/scenarios asks, with a LockClient. */
final class Agent {
    private static final List<String> ELSEWHERE = List.of("MOVED", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING");

    private final Map<String, HeldLock> named = new ConcurrentHashMap<>();
    private final Map<String, HeldLock> tasks = new ConcurrentHashMap<>();
    private final Map<String, Thread> waits = new ConcurrentHashMap<>();
    private final AtomicInteger sections = new AtomicInteger();
    private final AtomicInteger noAnswer = new AtomicInteger();
    private final AtomicLong stalled = new AtomicLong();
    private volatile boolean resting;
    private volatile List<Thread> workers = List.of();
    private volatile LockClient locks;

    public static void main(String[] arguments) throws Exception {
        Agent agent = new Agent();
        start(agent::watchTimer);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> request = Json.object(line);
            start(() -> agent.answer(request));
        }
        Runtime.getRuntime().halt(0);
    }

    private static Thread start(Runnable run) {
        Thread thread = new Thread(run);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** The time of the monotonic clock, in microseconds. */
    private static long now() {
        return System.nanoTime() / 1000;
    }

    private static void write(Map<String, Object> line) {
        String text = Json.text(line) + "\n";
        synchronized (System.out) {
            System.out.print(text);
            System.out.flush();
        }
    }

    private static void tell(String event, String key, long token, String reason) {
        write(Map.of("event", event, "at", now(), "key", key, "token", token, "reason", reason));
    }

    /** Measures by how much this program's timers are late. */
    private void watchTimer() {
        while (true) {
            long began = now();
            sleep(20);
            stalled.accumulateAndGet(now() - began - 20_000, Math::max);
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void answer(Map<String, Object> request) {
        Map<String, Object> answer = new HashMap<>();
        try {
            act(request, answer);
        } catch (Exception e) {
            answer.putAll(failed(e, request.containsKey("deadline_ms")));
        }
        answer.put("id", request.get("id"));
        answer.put("at", now());
        write(answer);
    }

    private void act(Map<String, Object> q, Map<String, Object> answer) throws Exception {
        String as = (String) q.get("as");
        switch ((String) q.get("do")) {
            case "connect" -> connect(q);
            case "acquire" -> answer.put("token", acquire(q));
            case "cancel" -> waits.get(as).interrupt();
            case "release" -> {
                HeldLock lock = named.get(as);
                tell("out", lock.key(), lock.token(), "");
                lock.unlock();
            }
            case "guard" -> named.get(as).guard(strings(q, "words").toArray(String[]::new));
            case "check" -> named.get(as).ensureHeld();
            case "work" -> {
                resting = false;
                sections.set(0);
                noAnswer.set(0);
                List<Thread> started = new ArrayList<>();
                for (int i = 0; i < number(q, "workers"); i++) {
                    started.add(start(() -> work(q)));
                }
                workers = started;
            }
            case "count" -> count(answer);
            case "rest" -> {
                resting = true;
                for (Thread worker : workers) {
                    worker.join();
                }
                count(answer);
            }
            case "stalled" -> answer.put("stalled", stalled.getAndSet(0));
            case "close" -> locks.close();
            default -> throw new IllegalArgumentException("there is no " + q.get("do"));
        }
    }

    private void count(Map<String, Object> answer) {
        answer.put("sections", sections.get());
        answer.put("no_answer", noAnswer.get());
    }

    private void connect(Map<String, Object> q) {
        List<String> addresses = strings(q, "addrs");
        String[] uris = "sentinel".equals(q.get("kind"))
                ? new String[] {"redis-sentinel://" + String.join(",", addresses) + "#" + q.get("master")}
                : addresses.stream().map(address -> "redis://" + address).toArray(String[]::new);
        locks = LockClient.builder(uris).name("java").timeout(Duration.ofMillis(number(q, "timeout_ms")))
                .connectTimeout(Duration.ofSeconds(60)).observer(new LockObserver() {
                    @Override
                    public void lost(LockLostException loss, Duration held) {
                        tell("lost", loss.key(), loss.token(), loss.reason().toString());
                    }
                }).build();
    }

    private LockOptions options(Map<String, Object> q) {
        LockOptions options = LockOptions.defaults();
        long wait = number(q, "wait_ms");
        if (wait >= 0) {
            options = options.withWait(Duration.ofMillis(wait));
        }
        if (number(q, "lease_ms") > 0) {
            options = options.withLease(Duration.ofMillis(number(q, "lease_ms")));
        }
        HeldLock other = q.containsKey("task") ? tasks.get((String) q.get("task")) : null;
        return other == null ? options : options.sameOwnerAs(other);
    }

    private long acquire(Map<String, Object> q) throws InterruptedException {
        String key = (String) q.get("key");
        waits.put((String) q.get("as"), Thread.currentThread());
        LockOptions options = options(q);
        if (q.containsKey("deadline_ms")) { // a caller's deadline is a wait here
            options = options.withWait(Duration.ofMillis(number(q, "deadline_ms")));
        }
        HeldLock lock = locks.lock(key, options);
        tell("in", key, lock.token(), "");
        named.put((String) q.get("as"), lock);
        if (q.containsKey("task")) {
            tasks.put((String) q.get("task"), lock);
        }
        return lock.token();
    }

    private void work(Map<String, Object> q) {
        List<String> keys = strings(q, "keys");
        LockOptions options = options(q);
        boolean quiet = Boolean.TRUE.equals(q.get("quiet"));
        while (!resting) {
            String key = keys.get(ThreadLocalRandom.current().nextInt(keys.size()));
            HeldLock lock;
            try {
                lock = locks.lock(key, options);
            } catch (Exception e) {
                unanswered("lock", e);
                continue;
            }
            if (!quiet) {
                tell("in", key, lock.token(), "");
                try {
                    lock.guard("SET", "written:" + key, Long.toString(lock.token()));
                } catch (Exception e) {
                    unanswered("guard", e);
                }
                tell("out", key, lock.token(), "");
            }
            try {
                lock.unlock();
            } catch (Exception e) {
                unanswered("unlock", e);
            }
            sections.incrementAndGet();
        }
    }

    /** Counts an error that a broken connection explains, and reports any other. A loss is an event. */
    private void unanswered(String what, Exception e) {
        Map<String, Object> found = failed(e, false);
        Object kind = found.get("error");
        if ("no_connection".equals(kind) || "lost".equals(kind)) {
            noAnswer.incrementAndGet();
            sleep(5);
        } else {
            tell("failure", "", 0, what + ": " + kind + ": " + found.get("text"));
            sleep(100);
        }
    }

    private static Map<String, Object> failed(Exception e, boolean deadline) {
        String kind = "other";
        String reason = "";
        if (e instanceof LockLostException lost) {
            kind = "lost";
            reason = lost.reason().toString();
        } else if (e instanceof LockReleasedException) {
            kind = "released";
        } else if (e instanceof ClientClosedException) {
            kind = "closed";
        } else if (e instanceof NotAcquiredException) {
            kind = deadline ? "deadline" : "not_acquired";
        } else if (e instanceof InterruptedException) {
            kind = "cancelled";
        } else if (e instanceof DeadlockException) {
            kind = "deadlock";
        } else if (e instanceof NoConnectionException || e instanceof ServerException reply && ELSEWHERE.contains(reply.code())) {
            kind = "no_connection";
        }
        return Map.of("error", kind, "text", String.valueOf(e), "reason", reason);
    }

    private static long number(Map<String, Object> q, String name) {
        return q.get(name) instanceof Long value ? value : 0;
    }

    @SuppressWarnings("unchecked")
    private static List<String> strings(Map<String, Object> q, String name) {
        return (List<String>) q.getOrDefault(name, List.of());
    }

    /** As much of JSON as the requests and answers have. */
    private static final class Json {
        private final String text;
        private int at;

        private Json(String text) {
            this.text = text;
        }

        @SuppressWarnings("unchecked")
        static Map<String, Object> object(String text) {
            return (Map<String, Object>) new Json(text).value();
        }

        static String text(Object value) {
            StringBuilder out = new StringBuilder();
            if (value instanceof Map<?, ?> map) {
                map.forEach((name, of) -> out.append(out.length() == 0 ? "{" : ",").append(text(name)).append(':').append(text(of)));
                return out.append('}').toString();
            }
            if (!(value instanceof String string)) {
                return String.valueOf(value);
            }
            out.append('"');
            for (char c : string.toCharArray()) {
                out.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
            }
            return out.append('"').toString();
        }

        private Object value() {
            char c = text.charAt(at);
            if (c == '{') {
                Map<String, Object> map = new HashMap<>();
                for (at++; text.charAt(at) != '}'; skip(',')) {
                    String name = string();
                    skip(':');
                    map.put(name, value());
                }
                at++;
                return map;
            }
            if (c == '[') {
                List<Object> list = new ArrayList<>();
                for (at++; text.charAt(at) != ']'; skip(',')) {
                    list.add(value());
                }
                at++;
                return list;
            }
            if (c == '"') {
                return string();
            }
            int from = at;
            while (at < text.length() && ",]}".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            String word = text.substring(from, at);
            return word.equals("true") || word.equals("false") ? (Object) Boolean.valueOf(word) : (Object) Long.valueOf(word);
        }

        private void skip(char c) {
            if (text.charAt(at) == c) {
                at++;
            }
        }

        private String string() {
            StringBuilder out = new StringBuilder();
            for (at++; text.charAt(at) != '"'; at++) {
                if (text.charAt(at) == '\\') {
                    at++;
                }
                out.append(text.charAt(at));
            }
            at++;
            return out.toString();
        }
    }
}
