"""The protocol: commands to bytes, and bytes to replies. It reads from no socket."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from .errors import ServerError

Word = Union[bytes, str, int, float]


def encode_word(word: Word) -> bytes:
    """Returns a word of a command as bytes; text is UTF-8."""
    if isinstance(word, str):
        return word.encode()
    if isinstance(word, bytes):
        return word
    if isinstance(word, bool) or not isinstance(word, (int, float)):
        raise TypeError(f"a word of a command is bytes, str, int or float, not {type(word).__name__}")
    return repr(word).encode()


class _Encoded(Dict[Any, bytes]):
    """Words as the server reads them. Names of commands and options are kept."""

    def __missing__(self, word: Any) -> bytes:
        text = word if type(word) is bytes else b"%d" % word if type(word) is int else encode_word(word)
        encoded = b"$%d\r\n%b\r\n" % (len(text), text)
        if type(word) is str and len(text) <= 32 and len(self) < 512:
            self[word] = encoded
        return encoded


_encoded = _Encoded()


#: Returns a word as the server reads it, with its length.
bulk: Callable[[Word], bytes] = _encoded.__getitem__


def encode(words: Sequence[Word]) -> bytes:
    """Returns a command as the server reads it."""
    try:
        return b"*%d\r\n%b" % (len(words), b"".join(map(bulk, words)))
    except TypeError:  # a word that is none may have no hash
        for word in words:
            encode_word(word)
        raise


def pattern(words: Sequence[Optional[Word]]) -> bytes:
    """Returns a command in which some words are left out, as None: it is encoded once, and ``%`` puts them in, each a bulk."""
    texts = [b"%b" if word is None else bulk(word).replace(b"%", b"%%") for word in words]
    return b"*%d\r\n%b" % (len(words), b"".join(texts))


class Malformed(Exception):
    """The bytes are not a reply."""


class Push(List[Any]):
    """A message that the server sends without a request."""


class _Short(Exception):
    """The reply is not complete yet."""


#: The push of a grant, as it nearly always comes. What has other lengths than it says is read in the usual way.
_GRANT = re.compile(rb">4\r\n\$12\r\nlock-granted\r\n\$(\d{1,9})\r\n(.*?)\r\n:(\d{1,19})\r\n\$(\d{1,9})\r\n(.*?)\r\n", re.DOTALL)
_MOST_DEPTH = 16
_MOST_STRING = 512 << 20
_MOST_ITEMS = 1 << 24


class Parser:
    """Takes bytes as they arrive, and gives whole replies.

    A reply is an int, bytes, None, float, bool, list, dict, set, a :class:`ServerError` (returned, not raised) or a
    :class:`Push`. A piece that is cut anywhere is kept until the rest has come.
    """

    def __init__(self) -> None:
        self._rest: List[bytes] = []  # of a reply that is not complete
        self._length = 0  # of these
        self._wanted = 0  # how long they have to be at least, as far as is known

    def feed(self, data: bytes) -> Iterable[Any]:
        """Gives the replies that are complete with these bytes. It raises :class:`Malformed`, or the iteration does."""
        if not self._rest and data[:1] in b":+" and data.find(b"\r\n") == len(data) - 2 > 0:  # most are of this kind
            line = data[1:-2]
            if data[0] == 0x2B:
                return (line,)
            if line.isdigit():
                return (int(line),)
        return self._feed(data)

    def _feed(self, data: bytes) -> Iterator[Any]:
        if self._rest:
            self._rest.append(data)
            self._length += len(data)
            if self._length < self._wanted:
                return
            data = b"".join(self._rest)
            self._rest = []
        self._wanted = at = 0
        size = len(data)
        while at < size:
            kind = data[at]
            if kind == 0x3E:  # >
                grant = _GRANT.match(data, at)
                if grant is not None:
                    length, key, token, size_of_owner, owner = grant.groups()
                    if len(key) == int(length) and len(owner) == int(size_of_owner):
                        at = grant.end()
                        yield Push((b"lock-granted", key, int(token), owner))
                        continue
            elif kind == 0x3A or kind == 0x2B:  # a number or a line, in one step
                end = data.find(b"\r\n", at)
                line = data[at + 1 : end]
                if end > 0 and (kind == 0x2B or line.isdigit()):
                    at = end + 2
                    yield int(line) if kind == 0x3A else line
                    continue
            try:
                reply, end = self._read(data, at, 0)
            except _Short:
                self._rest = [data[at:]]
                self._length, self._wanted = size - at, self._wanted - at
                return
            except ValueError:
                raise Malformed(f"{data[at:at + 40]!r}") from None
            at = end
            yield reply

    def _read(self, data: bytes, at: int, depth: int) -> Tuple[Any, int]:
        end = data.find(b"\r\n", at)
        if end < 0:
            raise _Short
        kind, line, end = data[at], data[at + 1 : end], end + 2
        if kind == 0x3A:  # :
            return int(line), end
        if kind == 0x24:  # $
            return self._string(data, kind, line, end)
        if kind == 0x2B:  # +
            return line, end
        return self._rare(data, kind, line, end, depth)

    def _rare(self, data: bytes, kind: int, line: bytes, at: int, depth: int) -> Tuple[Any, int]:
        if kind in b"*~>%|":
            return self._aggregate(data, kind, line, at, depth)
        if kind == 0x2D:  # -
            return ServerError(line.decode("utf-8", "replace")), at
        if kind in b"=!":
            return self._string(data, kind, line, at)
        if kind == 0x5F:  # _
            return None, at
        if kind == 0x2C:  # ,
            return float(line), at
        if kind == 0x23:  # #
            return line == b"t", at
        if kind == 0x28:  # (
            return int(line), at
        raise Malformed(f"no type begins with {chr(kind)!r}")

    def _string(self, data: bytes, kind: int, line: bytes, at: int) -> Tuple[Any, int]:
        length = int(line)
        if length == -1:
            return None, at
        if not 0 <= length <= _MOST_STRING:
            raise Malformed(f"length {length}")
        end = at + length
        if len(data) < end + 2:
            self._wanted = end + 2
            raise _Short
        if data[end : end + 2] != b"\r\n":
            raise Malformed("a string does not end with CR LF")
        text = data[at:end]
        if kind == 0x21:  # !
            return ServerError(text.decode("utf-8", "replace")), end + 2
        return (text[4:] if kind == 0x3D else text), end + 2

    def _aggregate(self, data: bytes, kind: int, line: bytes, at: int, depth: int) -> Tuple[Any, int]:
        if depth >= _MOST_DEPTH:
            raise Malformed("too many levels")
        count = int(line)
        if count == -1:
            return None, at
        if not 0 <= count <= _MOST_ITEMS:
            raise Malformed(f"length {count}")
        items: List[Any] = []
        for _ in range(count * 2 if kind in b"%|" else count):
            item, at = self._read(data, at, depth + 1)
            items.append(item)
        if kind == 0x7C:  # | has attributes of the reply that follows
            return self._read(data, at, depth + 1)
        if kind == 0x3E:  # >
            return Push(items), at
        if kind == 0x25:  # %
            return {_key(name): value for name, value in zip(items[::2], items[1::2])}, at
        return items, at


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def decode(reply: Any, encoding: Optional[str]) -> Any:
    """Returns a reply with its bytes as text, or as it is if there is no encoding."""
    if encoding is None:
        return reply
    if isinstance(reply, bytes):
        return reply.decode(encoding, "replace")
    if isinstance(reply, list):
        return [decode(item, encoding) for item in reply]
    if isinstance(reply, dict):
        return {decode(name, encoding): decode(value, encoding) for name, value in reply.items()}
    return reply
