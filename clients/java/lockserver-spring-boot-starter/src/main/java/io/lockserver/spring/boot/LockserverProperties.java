package io.lockserver.spring.boot;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.springframework.boot.context.properties.ConfigurationProperties;

import io.lettuce.core.RedisURI;

/** The properties {@code lockserver.*}. What the fields say is in the metadata that editors show. */
@ConfigurationProperties("lockserver")
public class LockserverProperties {
    /** One URI of a server or of its Sentinels, or those of the members of a group. None: what spring.data.redis.* says. */
    private List<String> uris = new ArrayList<>();
    /** Whether the server of the one URI is asked for the other shards of a cluster. With several URIs it always is. */
    private boolean cluster;
    /** Begins the names of the owners, which operators see. Empty: spring.application.name, or else "lock". */
    private String name = "";
    /** Bounds how long a call waits for answers of the server, all attempts together. */
    private Duration timeout = Duration.ofSeconds(5);
    /** Bounds how long the first connection may take when the application starts. */
    private Duration connectTimeout = Duration.ofSeconds(10);
    /** Begins the keys of Spring Integration's locks. */
    private String registryKey = "lock";
    /** The user of the servers, if the URIs have none. Empty: the default user. */
    private String username = "";
    /** The password of the servers, if the URIs have none. */
    private String password = "";
    /** The user of the Sentinels, which the URI of a server cannot say. Empty: the default user. */
    private String sentinelUsername = "";
    /** The password of the Sentinels. Empty: they ask for none. */
    private String sentinelPassword = "";
    /** The SSL bundle for a rediss:// URI. Empty: that of spring.data.redis.ssl.bundle, or else Java's certificates. */
    private String sslBundle = "";
    /** Whether there is a client at all. */
    private boolean enabled = true;
    /** Whether the application starts without the server: the client connects meanwhile, and calls wait for at most the timeout. */
    private boolean lazy;

    public List<String> getUris() {
        return uris;
    }

    public void setUris(List<String> uris) {
        this.uris = uris;
    }

    /** The same with users and passwords. */
    List<RedisURI> servers() {
        List<String> whole = new ArrayList<>();
        for (String part : uris) {
            if (part.contains("://") || whole.isEmpty()) {
                whole.add(part);
            } else { // a URI of several Sentinels was split at its comma
                whole.add(whole.remove(whole.size() - 1) + "," + part);
            }
        }
        List<RedisURI> servers = whole.stream().map(RedisURI::create).toList();
        servers.forEach(server -> {
            Credentials.set(server, username, password);
            server.getSentinels().forEach(sentinel -> Credentials.set(sentinel, sentinelUsername, sentinelPassword));
        });
        return servers;
    }

    public boolean isCluster() {
        return cluster;
    }

    public void setCluster(boolean cluster) {
        this.cluster = cluster;
    }

    public String getName() {
        return name;
    }

    public void setName(String name) {
        this.name = name;
    }

    public Duration getTimeout() {
        return timeout;
    }

    public Duration getConnectTimeout() {
        return connectTimeout;
    }

    public void setConnectTimeout(Duration connectTimeout) {
        this.connectTimeout = connectTimeout;
    }

    public void setTimeout(Duration timeout) {
        this.timeout = timeout;
    }

    public String getRegistryKey() {
        return registryKey;
    }

    public void setRegistryKey(String registryKey) {
        this.registryKey = registryKey;
    }

    public String getUsername() {
        return username;
    }

    public void setUsername(String username) {
        this.username = username;
    }

    public String getPassword() {
        return password;
    }

    public void setPassword(String password) {
        this.password = password;
    }

    public String getSentinelUsername() {
        return sentinelUsername;
    }

    public void setSentinelUsername(String sentinelUsername) {
        this.sentinelUsername = sentinelUsername;
    }

    public String getSentinelPassword() {
        return sentinelPassword;
    }

    public void setSentinelPassword(String sentinelPassword) {
        this.sentinelPassword = sentinelPassword;
    }

    public String getSslBundle() {
        return sslBundle;
    }

    public void setSslBundle(String sslBundle) {
        this.sslBundle = sslBundle;
    }

    public boolean isEnabled() {
        return enabled;
    }

    public void setEnabled(boolean enabled) {
        this.enabled = enabled;
    }

    public boolean isLazy() {
        return lazy;
    }

    public void setLazy(boolean lazy) {
        this.lazy = lazy;
    }
}
