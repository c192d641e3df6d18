package io.lockserver.spring.boot;

import io.lettuce.core.RedisURI;
import io.lettuce.core.StaticCredentialsProvider;

/** A user and a password. */
final class Credentials {
    private Credentials() {
    }

    /** Sets them, unless the password is empty: then the URI keeps its own. An empty user is the default user. */
    static void set(RedisURI uri, String user, String password) {
        if (!password.isEmpty()) {
            uri.setCredentialsProvider(new StaticCredentialsProvider(user.isEmpty() ? null : user, password.toCharArray()));
        }
    }
}
