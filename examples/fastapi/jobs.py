"""The shop's jobs with Celery. A task may be delivered twice, and its worker may die: each bill is printed once.

The server is Celery's broker, too: celery -A jobs worker
"""

import os

from celery import Celery
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

import lockserver
from tables import Bill

jobs = Celery("jobs", broker=os.environ["LOCKS"], broker_connection_retry_on_startup=True)
# A task that a dead worker had comes again, to another worker.
jobs.conf.update(task_acks_late=True, task_reject_on_worker_lost=True, worker_prefetch_multiplier=1)
locks = lockserver.Locks.from_url(os.environ["LOCKS"], name="jobs")
engine = create_engine(os.environ["JOBS_DATABASE"])

AGAIN = (lockserver.NotAcquired, lockserver.LockLost, lockserver.StaleFence, lockserver.NoConnection)


@jobs.task(autoretry_for=AGAIN, retry_backoff=1, retry_backoff_max=60, max_retries=100)
def print_bill(number):
    with locks.lock(f"bill:{number}", wait=5) as held, Session(engine) as session, session.begin():
        lockserver.fence(session, "bills", number, held.token)
        bill = session.get(Bill, number)
        if bill.prints == 0:
            bill.prints += 1
