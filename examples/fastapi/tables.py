"""The tables of the shop."""

from sqlalchemy import BigInteger
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    pass


class Bill(Base):
    """A bill. It is paid once and printed once, whatever clients, workers and servers do."""

    __tablename__ = "bills"

    id: Mapped[int] = mapped_column(primary_key=True)
    payments: Mapped[int] = mapped_column(default=0)
    prints: Mapped[int] = mapped_column(default=0)
    fence: Mapped[int] = mapped_column(BigInteger, default=0)  # the highest token of the locks that were used here
