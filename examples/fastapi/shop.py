"""A shop with FastAPI, asyncio and SQLAlchemy: a payment under a lock, with a fence in the same transaction."""

import contextlib
import os

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import lockserver
from tables import Bill

#: What an error of the lock is for the client of HTTP: 503 says that the request may be sent again.
STATUSES = {
    lockserver.NotAcquired: 409,
    lockserver.StaleFence: 503,
    lockserver.LockLost: 503,
    lockserver.NoConnection: 503,
}


def create_app(locks_url, database, wait=5.0):
    """Returns the shop.

    locks_url: the server's URL, or a list of the URLs of a group. wait: how long a request waits for a lock, in seconds.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app):
        engine = create_async_engine(database)
        async with lockserver.AsyncLocks.from_url(locks_url, name="shop") as app.state.locks:
            app.state.engine = engine
            yield
        await engine.dispose()

    app = FastAPI(lifespan=lifespan)

    @app.post("/bills/{number}/payments")
    async def pay(number: int):
        lock = app.state.locks.lock(f"bill:{number}", wait=wait, cancel_on_loss=True)
        async with lock as held, AsyncSession(app.state.engine) as session, session.begin():
            await lockserver.async_fence(session, "bills", number, held.token)  # before the row is read
            bill = await session.get(Bill, number)
            if bill.payments > 0:
                return {"outcome": "paid already"}
            bill.payments += 1
            return {"outcome": "paid"}

    async def failed(_, error):
        status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        return JSONResponse({"error": str(error)}, status)

    for kind in STATUSES:
        app.add_exception_handler(kind, failed)

    @app.exception_handler(LookupError)
    async def unknown(_, error):
        return JSONResponse({"error": str(error)}, 404)

    return app


def main():
    """The application for uvicorn: uvicorn --factory shop:main"""
    return create_app(os.environ["LOCKS"].split(","), os.environ["DATABASE"])
