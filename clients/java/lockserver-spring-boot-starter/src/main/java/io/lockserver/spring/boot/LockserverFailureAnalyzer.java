package io.lockserver.spring.boot;

import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

import javax.net.ssl.SSLException;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.env.Environment;

import io.lettuce.core.RedisURI;
import io.lockserver.client.LockException;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.NotLockserverException;
import io.lockserver.client.ServerException;

/** Says why an application does not start that cannot use its lockserver, and what to do about it. */
final class LockserverFailureAnalyzer extends AbstractFailureAnalyzer<LockException> {
    /** What servers reply to a user that is unknown, has another password, or lacks a right. */
    private static final Set<String> LOGIN = Set.of("WRONGPASS", "NOAUTH", "NOPERM");

    private final Environment environment;

    LockserverFailureAnalyzer(Environment environment) {
        this.environment = environment;
    }

    @Override
    protected FailureAnalysis analyze(Throwable root, LockException error) {
        String server = "The lockserver at " + servers();
        if (error instanceof NotLockserverException) {
            return new FailureAnalysis(server + " is no lockserver. It answers like Redis, which lacks the commands for locks: " + error.getMessage(),
                    "Name a lockserver by " + property() + ", or switch the starter off by lockserver.enabled=false.", error);
        }
        if (error instanceof ServerException reply) {
            if (!LOGIN.contains(reply.code()) && !reply.getMessage().contains("AUTH")) {
                return null;
            }
            return reply.code().equals("NOPERM")
                    ? new FailureAnalysis(server + " does not give its user the rights that the client needs: " + error.getMessage(),
                            "Give the user the rights that docs/SECURITY.md of lockserver lists.", error)
                    : new FailureAnalysis(server + " refuses the user or the password: " + error.getMessage(),
                            "Correct lockserver.username and lockserver.password, or those in " + property() + ".", error);
        }
        return error instanceof NoConnectionException ? unreachable(server, error) : null;
    }

    private FailureAnalysis unreachable(String server, LockException error) {
        if (has(error, SSLException.class)) {
            return new FailureAnalysis(server + " cannot be used with TLS: " + error.getMessage(),
                    "Say rediss:// only of a port with TLS, and let lockserver.ssl-bundle have the authority of the server's certificate.", error);
        }
        String start = " With lockserver.lazy=true the application starts without it.";
        if (has(error, TimeoutException.class)) {
            return new FailureAnalysis(server + " accepts connections, or loses them, and has not answered in time: " + error.getMessage(),
                    "See whether it is stopped, is loading its data, or is behind a firewall" + (isSecure() ? ", and whether its port has TLS" : "")
                            + "; or raise lockserver.connect-timeout." + start, error);
        }
        return new FailureAnalysis(server + " cannot be reached: " + error.getMessage(), "Start it, or correct " + property() + "." + start, error);
    }

    private static boolean has(Throwable error, Class<? extends Throwable> kind) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (kind.isInstance(cause)) {
                return true;
            }
        }
        return false;
    }

    private LockserverProperties properties() {
        return Binder.get(environment).bind("lockserver", LockserverProperties.class).orElseGet(LockserverProperties::new);
    }

    /** The properties that name the server. */
    private String property() {
        return properties().getUris().isEmpty() ? "lockserver.uris, or spring.data.redis.*" : "lockserver.uris";
    }

    private List<RedisURI> uris() {
        LockserverProperties properties = properties();
        return properties.getUris().isEmpty() ? new RedisProperties(environment).uris() : properties.servers();
    }

    private boolean isSecure() {
        return uris().stream().anyMatch(RedisURI::isSsl);
    }

    private String servers() {
        return uris().stream().map(LockserverFailureAnalyzer::address).collect(Collectors.joining(", "));
    }

    private static String address(RedisURI uri) {
        return uri.getSentinels().isEmpty() ? uri.getHost() + ":" + uri.getPort()
                : uri.getSentinels().stream().map(LockserverFailureAnalyzer::address).collect(Collectors.joining(", ", "Sentinels ", ""));
    }
}
