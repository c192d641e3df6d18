package io.lockserver.spring.boot;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.springframework.boot.context.properties.ConfigurationProperties;

import io.lettuce.core.RedisURI;

/** The properties {@code lockserver.*}. */
@ConfigurationProperties("lockserver")
public class LockserverProperties {
    private List<String> uris = new ArrayList<>();
    private String name = "";
    private Duration timeout = Duration.ofSeconds(5);
    private Duration connectTimeout = Duration.ofSeconds(10);
    private String registryKey = "lock";
    private String username = "";
    private String password = "";
    private String sentinelUsername = "";
    private String sentinelPassword = "";
    private String sslBundle = "";
    private boolean enabled = true;

    /** One URI of a server or of its Sentinels, or those of the members of a group. None: what spring.data.redis.* says. */
    public List<String> getUris() {
        return uris;
    }

    /** Sets the URIs. */
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

    /** Begins the names of the owners, which operators see. Empty: spring.application.name, or else "lock". */
    public String getName() {
        return name;
    }

    /** Sets the name. */
    public void setName(String name) {
        this.name = name;
    }

    /** Bounds how long a call waits for answers of the server. */
    public Duration getTimeout() {
        return timeout;
    }

    /** Bounds how long the first connection may take. */
    public Duration getConnectTimeout() {
        return connectTimeout;
    }

    /** Sets the timeout of the first connection. */
    public void setConnectTimeout(Duration connectTimeout) {
        this.connectTimeout = connectTimeout;
    }

    /** Sets the timeout. */
    public void setTimeout(Duration timeout) {
        this.timeout = timeout;
    }

    /** Begins the keys of Spring Integration's locks. */
    public String getRegistryKey() {
        return registryKey;
    }

    /** Sets the key. */
    public void setRegistryKey(String registryKey) {
        this.registryKey = registryKey;
    }

    /** The user of the servers, if the URIs have none. Empty: the default user. */
    public String getUsername() {
        return username;
    }

    /** Sets the user. */
    public void setUsername(String username) {
        this.username = username;
    }

    /** The password of the servers, if the URIs have none. */
    public String getPassword() {
        return password;
    }

    /** Sets the password. */
    public void setPassword(String password) {
        this.password = password;
    }

    /** The user of the Sentinels, which the URI of a server cannot say. Empty: the default user. */
    public String getSentinelUsername() {
        return sentinelUsername;
    }

    /** Sets the user of the Sentinels. */
    public void setSentinelUsername(String sentinelUsername) {
        this.sentinelUsername = sentinelUsername;
    }

    /** The password of the Sentinels. Empty: they ask for none. */
    public String getSentinelPassword() {
        return sentinelPassword;
    }

    /** Sets the password of the Sentinels. */
    public void setSentinelPassword(String sentinelPassword) {
        this.sentinelPassword = sentinelPassword;
    }

    /** The SSL bundle for a rediss:// URI. Empty: that of spring.data.redis.ssl.bundle, or else Java's certificates. */
    public String getSslBundle() {
        return sslBundle;
    }

    /** Sets the bundle. */
    public void setSslBundle(String sslBundle) {
        this.sslBundle = sslBundle;
    }

    /** Whether there is a client at all. */
    public boolean isEnabled() {
        return enabled;
    }

    /** Switches the client on or off. */
    public void setEnabled(boolean enabled) {
        this.enabled = enabled;
    }
}
