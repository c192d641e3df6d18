package io.lockserver.spring.boot;

import java.util.ArrayList;
import java.util.List;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

import io.lettuce.core.RedisURI;

/** The server that {@code spring.data.redis.*} names. Boot's own class for it has another name in each version, so it is read here. */
final class RedisProperties {
    private final Binder binder;

    RedisProperties(Environment environment) {
        binder = Binder.get(environment);
    }

    private String text(String name, String otherwise) {
        return binder.bind("spring.data.redis." + name, String.class).orElse(otherwise);
    }

    private List<String> list(String name) {
        return binder.bind("spring.data.redis." + name, org.springframework.boot.context.properties.bind.Bindable.listOf(String.class))
                .orElse(List.of());
    }

    String sslBundle() {
        return text("ssl.bundle", "");
    }

    /** Whether the program says that it is a Redis Cluster. */
    boolean isCluster() {
        return text("url", "").isEmpty() && text("sentinel.master", "").isEmpty() && !list("cluster.nodes").isEmpty();
    }

    List<RedisURI> uris() {
        String url = text("url", "");
        if (!url.isEmpty()) {
            return List.of(RedisURI.create(url));
        }
        List<RedisURI> uris = new ArrayList<>();
        String master = text("sentinel.master", "");
        if (!master.isEmpty()) {
            RedisURI.Builder builder = null;
            for (String node : list("sentinel.nodes")) {
                String host = host(node);
                builder = builder == null ? RedisURI.Builder.sentinel(host, port(node), master) : builder.withSentinel(host, port(node));
            }
            if (builder == null) {
                throw new IllegalStateException("spring.data.redis.sentinel.nodes is empty");
            }
            uris.add(builder.build());
        }
        list("cluster.nodes").forEach(node -> uris.add(RedisURI.create(host(node), port(node))));
        if (uris.isEmpty()) {
            uris.add(RedisURI.create(text("host", "localhost"), Integer.parseInt(text("port", "6379"))));
        }
        uris.forEach(this::complete);
        return uris;
    }

    private static String host(String node) {
        return node.substring(0, colon(node));
    }

    private static int port(String node) {
        return Integer.parseInt(node.substring(colon(node) + 1));
    }

    private static int colon(String node) {
        int colon = node.lastIndexOf(':');
        if (colon < 0) {
            throw new IllegalStateException("a node of spring.data.redis.* has no port: " + node);
        }
        return colon;
    }

    private void complete(RedisURI uri) {
        boolean ssl = Boolean.parseBoolean(text("ssl.enabled", Boolean.toString(!sslBundle().isEmpty())));
        uri.setDatabase(Integer.parseInt(text("database", "0")));
        uri.setSsl(ssl);
        Credentials.set(uri, text("username", ""), text("password", ""));
        uri.getSentinels().forEach(sentinel -> {
            sentinel.setSsl(ssl); // as Spring Data Redis has it
            Credentials.set(sentinel, text("sentinel.username", ""), text("sentinel.password", ""));
        });
    }
}
