"""rq: jobs, dependencies, retries, schedules and registries, worked off by a worker in this process."""

from datetime import timedelta

import pytest
import redis
from rq import Queue, Retry, SimpleWorker
from rq.job import JobStatus
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry
from rq.scheduler import RQScheduler

import tasks
from server import eventually


@pytest.fixture
def r(server, protocol):
    with redis.Redis(port=server.port, protocol=protocol) as client:
        client.flushall()
        yield client


@pytest.fixture
def queue(r):
    return Queue("default", connection=r)


def work(queue, **how):
    """Works until the queue is empty."""
    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR", **how)


def test_jobs(queue):
    jobs = [queue.enqueue(tasks.double, n) for n in range(20)]
    first = queue.enqueue(tasks.double, 100, at_front=True, job_id="first", meta={"who": "me"})
    assert queue.job_ids[0] == "first" and len(queue) == 21
    work(queue)
    assert [job.return_value() for job in jobs] == [2 * n for n in range(20)]
    assert first.get_status() == JobStatus.FINISHED and first.return_value() == 200
    assert len(FinishedJobRegistry(queue=queue)) == 21 and queue.is_empty()


def test_failures_and_retries(server, queue):
    failing = queue.enqueue(tasks.fail)
    flaky = queue.enqueue(tasks.fail_until, server.port, "tries", 2, retry=Retry(max=3))
    work(queue)
    assert failing.get_status() == JobStatus.FAILED and "it fails" in failing.latest_result().exc_string
    assert flaky.return_value() == "at last"
    registry = FailedJobRegistry(queue=queue)
    assert registry.get_job_ids() == [failing.id]
    registry.requeue(failing.id)
    assert queue.job_ids == [failing.id]
    queue.empty()


def test_dependencies(queue):
    parents = [queue.enqueue(tasks.double, n) for n in range(3)]
    child = queue.enqueue(tasks.double, 50, depends_on=parents)
    orphan = queue.enqueue(tasks.double, 60, depends_on=queue.enqueue(tasks.fail))
    assert child.get_status() == JobStatus.DEFERRED
    work(queue)
    assert child.return_value() == 100
    assert orphan.get_status() == JobStatus.DEFERRED
    child.delete()
    assert child.id not in queue.connection.keys("*")


def test_schedules(r, queue):
    soon = queue.enqueue_in(timedelta(milliseconds=1), tasks.double, 1)
    later = queue.enqueue_in(timedelta(hours=1), tasks.double, 2)
    assert len(ScheduledJobRegistry(queue=queue)) == 2
    scheduler = RQScheduler([queue], connection=r)
    assert scheduler.acquire_locks() == {"default"}
    assert RQScheduler([queue], connection=r).acquire_locks() == set(), "only one schedules"

    def due():
        scheduler.enqueue_scheduled_jobs()
        return soon.id in queue.job_ids

    eventually(due, "its time has come")
    work(queue)
    assert soon.return_value() == 2 and later.get_status() == JobStatus.SCHEDULED
    later.cancel()
    assert len(ScheduledJobRegistry(queue=queue)) == 0
