"""Sends and receives by sockets that do not block, without giving up the interpreter.

The methods of a socket release Python's lock of the interpreter in each call. Then another thread takes it, and the caller
waits to have it back, which takes longer than the call of the system. :class:`Direct` keeps it. It is for plain sockets
and small pieces; TLS, large pieces and other systems have the methods.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Optional

#: How many bytes are sent or received at most with the lock kept: other threads may run while more is copied.
_SHORT = 1 << 14

_system: Any = None
try:
    import ctypes

    _system = ctypes.PyDLL(None, use_errno=True)
    _flags = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)
    _system.send.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
    _system.recv.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    _system.send.restype = _system.recv.restype = ctypes.c_ssize_t
except (ImportError, OSError, AttributeError, TypeError):  # Windows, for instance
    _system = None


class Methods:
    """A socket with its methods. One thread at a time sends, and one receives."""

    piece = 1 << 16  # how many bytes are received at once

    def __init__(self, s: socket.socket) -> None:
        self._socket = s

    def send(self, data: bytearray) -> int:
        """Sends the first part of data, and returns how many bytes. It raises OSError; BlockingIOError: none now."""
        return self._socket.send(data)

    def receive(self) -> bytes:
        """Returns up to ``piece`` bytes that have come, or none if the other end has closed. It raises as send does."""
        return self._socket.recv(self.piece)


class Direct(Methods):
    """The same with calls of the system, where that is possible."""

    def __init__(self, s: socket.socket) -> None:
        super().__init__(s)
        self._buffer: Any = None
        if _system is not None:
            self._buffer, self.piece = ctypes.create_string_buffer(_SHORT), _SHORT

    def send(self, data: bytearray) -> int:
        """As :meth:`Methods.send`."""
        if self._buffer is None or len(data) > _SHORT:
            return super().send(data)
        # The number of a socket that was closed is -1, which the system refuses.
        return _checked(_system.send(self._socket.fileno(), bytes(data), len(data), _flags))

    def take(self) -> Optional[bytes]:
        """As receive, in fewer steps. None: receive has to look."""
        if self._buffer is None:
            return None
        count = _system.recv(self._socket.fileno(), self._buffer, _SHORT, _flags)
        data: bytes = self._buffer[:count if count > 0 else _checked(count)]
        return data or None

    def receive(self) -> bytes:
        """As :meth:`Methods.receive`."""
        if self._buffer is None:
            return super().receive()
        count = _checked(_system.recv(self._socket.fileno(), self._buffer, _SHORT, _flags))
        data: bytes = self._buffer[:count]
        return data


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
