"""How connections are made: by redis-py's own, which know addresses, TLS, passwords, databases and Sentinels.

A connection of redis-py connects and logs in; its socket is then taken over. So everything that a URL or a client of
redis-py says about reaching the server holds here, too, and no connection of the application's pool is used.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import redis.exceptions

from . import errors

Address = Tuple[str, int]

#: Settings of a pool that are not for a connection of this package's own.
_NOT_OURS = (
    "retry", "retry_on_error", "retry_on_timeout", "redis_connect_func", "decode_responses", "encoding_errors", "cache",
    "cache_config", "himport_registry", "event_dispatcher", "maintenance_state", "maintenance_notification_hash",
    "maint_notifications_config", "maint_notifications_pool_handler", "oss_cluster_maint_notifications_handler",
    "orig_host_address", "orig_socket_timeout", "orig_socket_connect_timeout", "parser_class", "health_check_interval",
    "legacy_responses", "command_packer", "max_connections", "timeout",
)


class Endpoint:
    """Where a server is, and how to reach it. A raft group has several addresses."""

    cluster = False  # the addresses may be those of a cluster's shards

    def __init__(self, connection_class: Any, settings: Mapping[str, Any], addresses: Sequence[Address], keep: Any = None) -> None:
        self._class = connection_class
        self.encoding: Optional[str] = settings.get("encoding", "utf-8") if settings.get("decode_responses") else None
        self._settings: Dict[str, Any] = {name: value for name, value in settings.items() if name not in _NOT_OURS}
        self._addresses: List[Address] = list(addresses)
        self._keep = keep  # of what connections hold weak references
        self._next = 0

    @property
    def addresses(self) -> List[Address]:
        """The known addresses."""
        return list(self._addresses)

    def at(self, address: Address) -> "Endpoint":
        """Returns the endpoint of another server, which is reached in the same way."""
        return Endpoint(self._class, self._settings, [address])

    def prepare(self, name: str, timeout: float) -> None:
        """Is called before an attempt to connect, and may ask other servers."""

    async def prepare_async(self, name: str, timeout: float) -> None:
        """As :meth:`prepare`."""

    def moved(self, address: str) -> None:
        """Has the next connection made to a member of a group: host:port, or any other one if that is empty."""
        host, _, port = address.rpartition(":")
        known = self._addresses
        if not known or not port.isdigit():
            self.missed()
            return
        to = (host.strip("[]") or known[self._next % len(known)][0], int(port))
        if to not in known:
            known.append(to)
        self._next = known.index(to)

    def patience(self, limit: float, lease: float) -> float:
        """Returns how long one attempt to connect may take, in seconds. A group has other members to be tried in time."""
        return min(limit, 5.0) if len(self._addresses) < 2 else max(0.5, min(limit, 5.0, lease / 6))

    def missed(self) -> None:
        """Has the next connection made to another address, because the last one was of no use."""
        self._next += 1

    def connection(self, name: str, timeout: float) -> Any:
        """Returns a connection of redis-py that is not connected yet."""
        settings = dict(self._settings)
        settings.update(protocol=3, client_name=name, socket_timeout=timeout, health_check_interval=0)
        settings["socket_connect_timeout"] = min(timeout, settings.get("socket_connect_timeout") or timeout)
        if self._addresses:
            settings["host"], settings["port"] = self._addresses[self._next % len(self._addresses)]
        return self._class(**settings)


def error_of(e: Exception) -> Exception:
    """Returns the error of this package for one of redis-py's while it connects."""
    if isinstance(e, (redis.exceptions.AuthenticationError, redis.exceptions.NoPermissionError)):
        return errors.ServerError(str(e))
    if isinstance(e, redis.exceptions.ResponseError) and not errors.is_elsewhere(errors.ServerError(str(e))):
        return errors.ServerError(str(e))
    return errors.NoConnection(str(e) or type(e).__name__)


def endpoint_of_urls(pool_class: Any, urls: Union[str, Sequence[str]], options: Mapping[str, Any]) -> Endpoint:
    """Returns the endpoint of a URL, or of several: a list is of members of a raft group, or of shards of a cluster."""
    one = isinstance(urls, str)
    urls = [urls] if isinstance(urls, str) else list(urls)
    if not urls:
        raise ValueError("no URL of a server")
    pools = [pool_class.from_url(url, **options) for url in urls]
    endpoint = _endpoint(pools, None)
    endpoint.cluster = not one and bool(endpoint.addresses)
    return endpoint


def endpoint_of_client(client: Any) -> Endpoint:
    """Returns the endpoint of a client of redis-py: Redis, RedisCluster, or one that a Sentinel has made."""
    pool = getattr(client, "connection_pool", None)
    if pool is not None:
        return _endpoint([pool], pool if hasattr(pool, "sentinel_manager") else None)
    manager = getattr(client, "nodes_manager", None)
    if manager is None:
        raise TypeError(f"no client of redis-py: {client!r}")
    nodes = list(client.get_nodes()) or list(manager.startup_nodes.values())
    addresses = [(node.host, node.port) for node in nodes]
    if hasattr(nodes[0], "connection_class"):  # asyncio: the node is its own pool
        endpoint = Endpoint(nodes[0].connection_class, nodes[0].connection_kwargs, addresses)
    else:
        pool = client.get_redis_connection(nodes[0]).connection_pool
        endpoint = Endpoint(pool.connection_class, pool.connection_kwargs, addresses)
    endpoint.cluster = True
    return endpoint


def _endpoint(pools: Iterable[Any], keep: Any) -> Endpoint:
    pools = list(pools)
    settings = pools[0].connection_kwargs
    addresses: List[Address] = []
    if keep is None and "path" not in settings:
        addresses = [(pool.connection_kwargs.get("host", "localhost"), int(pool.connection_kwargs.get("port", 6379))) for pool in pools]
    return Endpoint(pools[0].connection_class, settings, addresses, keep)
