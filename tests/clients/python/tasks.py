"""What the workers of the tests of rq run; a worker imports it by name."""


def double(n):
    return 2 * n


def fail():
    raise ValueError("it fails")


def fail_until(server_port, key, times):
    """Fails as often as told, counting in the server itself."""
    import redis

    with redis.Redis(port=server_port) as r:
        if r.incr(key) <= times:
            raise ValueError("not yet")
    return "at last"
