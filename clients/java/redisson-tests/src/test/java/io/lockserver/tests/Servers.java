package io.lockserver.tests;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

import io.lockserver.test.Lockserver;

/** Servers in one of the forms in which they run, and the properties by which an application finds them. */
abstract class Servers implements AutoCloseable {
    /** The forms. */
    enum Form {
        ONE, UNDER_SENTINEL, GROUP_AS_CLUSTER, GROUP_AS_SENTINEL
    }

    private static final String HOST = "127.0.0.1";

    private final Form form;
    private final Path certificates;

    private Servers(Form form, Path certificates) {
        this.form = form;
        this.certificates = certificates;
    }

    /** Starts them. With a folder of certificates they demand TLS, a certificate, and a user. */
    static Servers start(Form form, Path certificates) throws IOException {
        return form == Form.ONE ? new One(certificates) : new Three(form, certificates);
    }

    /** The servers, or their Sentinels. */
    abstract List<String> addresses();

    abstract String master();

    /** Has no server lead, until that is mended. */
    abstract void strand() throws IOException;

    abstract void mend() throws IOException;

    @Override
    public abstract void close();

    private boolean haveSentinels() {
        return form == Form.UNDER_SENTINEL || form == Form.GROUP_AS_SENTINEL;
    }

    private String watcher() {
        return form == Form.UNDER_SENTINEL ? "watcher" : "ann"; // members of a group have one list of users
    }

    /** The properties of Spring Data Redis. */
    Map<String, Object> ofSpringData() {
        Map<String, Object> all = new TreeMap<>();
        if (haveSentinels()) {
            all.put("sentinel.master", master());
            all.put("sentinel.nodes", String.join(",", addresses()));
        } else if (form == Form.GROUP_AS_CLUSTER) {
            all.put("cluster.nodes", String.join(",", addresses()));
        } else {
            all.put("host", HOST);
            all.put("port", addresses().get(0).substring(HOST.length() + 1));
        }
        if (certificates != null) {
            all.putAll(Map.of("ssl.bundle", "shop", "username", "ann", "password", "ann"));
            if (haveSentinels()) {
                all.putAll(Map.of("sentinel.username", watcher(), "sentinel.password", watcher()));
            }
        }
        return with("spring.data.redis.", all);
    }

    /** Our own properties. */
    Map<String, Object> ofLockserver() {
        Map<String, Object> all = new TreeMap<>();
        String scheme = certificates == null ? "redis" : "rediss";
        all.put("uris", haveSentinels() ? scheme + "-sentinel://" + String.join(",", addresses()) + "#" + master()
                : addresses().stream().map(address -> scheme + "://" + address).collect(Collectors.joining(",")));
        if (certificates != null) {
            all.putAll(Map.of("ssl-bundle", "shop", "username", "ann", "password", "ann"));
            if (haveSentinels()) {
                all.putAll(Map.of("sentinel-username", watcher(), "sentinel-password", watcher()));
            }
        }
        return with("lockserver.", all);
    }

    private Map<String, Object> with(String prefix, Map<String, Object> properties) {
        Map<String, Object> all = new TreeMap<>();
        properties.forEach((name, value) -> all.put(prefix + name, value));
        if (certificates != null) {
            String bundle = "spring.ssl.bundle.pem.shop.";
            all.put(bundle + "truststore.certificate", "file:" + certificates.resolve("ca.crt"));
            all.put(bundle + "keystore.certificate", "file:" + certificates.resolve("client.crt"));
            all.put(bundle + "keystore.private-key", "file:" + certificates.resolve("client.key"));
        }
        return all;
    }

    /** A server that is killed and comes back. */
    private static final class One extends Servers {
        private final Lockserver server;

        One(Path certificates) throws IOException {
            super(Form.ONE, certificates);
            server = certificates == null ? Lockserver.start("--appendonly", "yes") : secure(certificates, "yes");
        }

        @Override
        List<String> addresses() {
            return List.of(HOST + ":" + server.port());
        }

        @Override
        String master() {
            throw new UnsupportedOperationException();
        }

        @Override
        void strand() {
            server.kill();
        }

        @Override
        void mend() {
            server.restart();
        }

        @Override
        public void close() {
            server.close();
        }
    }

    /** A server that demands TLS and a user, and a certificate of its clients or not. */
    static Lockserver secure(Path certificates, String ofClients) throws IOException {
        Path users = Files.writeString(certificates.resolve("users"), "user default off\nuser ann on >ann ~shop:* &* +@all\n");
        String port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = Integer.toString(free.getLocalPort());
        }
        return Lockserver.start("--appendonly", "yes", "--aclfile", users.toString(), "--port", "0", "--tls-port", port,
                "--tls-auth-clients", ofClients, "--tls-ca-cert-file", certificates.resolve("ca.crt").toString(),
                "--tls-cert-file", certificates.resolve("server.crt").toString(),
                "--tls-key-file", certificates.resolve("server.key").toString());
    }

    /** Three, of which another one leads afterwards. */
    private static final class Three extends Servers {
        private final Fleet fleet;

        Three(Form form, Path certificates) throws IOException {
            super(form, certificates);
            fleet = switch (form) {
                case UNDER_SENTINEL -> new Fleet("replication", certificates, "min-replicas-ack 1");
                case GROUP_AS_CLUSTER -> new Fleet("cluster", certificates);
                default -> new Fleet("sentinel", certificates);
            };
        }

        @Override
        List<String> addresses() {
            return fleet.addresses;
        }

        @Override
        String master() {
            return fleet.name;
        }

        @Override
        void strand() throws IOException {
            fleet.act("strand");
        }

        @Override
        void mend() throws IOException {
            fleet.act("mend");
        }

        @Override
        public void close() {
            fleet.close();
        }
    }
}
