package lockserver.clients.secure;

import lockserver.clients.Server;

/** The libraries. */
enum Library {
    JEDIS {
        @Override
        Client connect(Server server, Access access) {
            return new ByJedis(server, access);
        }
    },
    LETTUCE {
        @Override
        Client connect(Server server, Access access) {
            return new ByLettuce(server, access);
        }
    },
    REDISSON {
        @Override
        Client connect(Server server, Access access) {
            return new ByRedisson(server, access);
        }
    };

    /** The value of a lock that is a string. */
    static final String OWNER = "me";

    /** Releases a lock that is a string, if it is the owner's. */
    static final String RELEASE =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    /** A client that is connected; throws if it is refused. */
    abstract Client connect(Server server, Access access);
}
