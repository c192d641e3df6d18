"""A shop with Django in one file: settings, a table with a fence, and a view that takes a lock around its transaction.

python shop.py migrate --run-syncdb && python shop.py runserver
"""

import os
import sys

import django
from django.conf import settings

settings.configure(
    DEBUG=False, ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY=os.environ.get("SECRET_KEY", "only for this example"),
    INSTALLED_APPS=[], USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    # IMMEDIATE: a transaction of SQLite that reads first could not write later.
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DATABASE", "shop.db"),
                           "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 60}}},
)
django.setup()

from django.db import connection, models, transaction  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from django.views.decorators.http import require_POST  # noqa: E402

import lockserver  # noqa: E402

locks = lockserver.Locks.from_url(os.environ.get("LOCKS", "redis://127.0.0.1:6379").split(","), name="shop")
#: How long a request waits for a lock, in seconds.
WAIT = float(os.environ.get("WAIT", "5"))


class Bill(models.Model):
    """A bill, which is paid once. The fence is the highest token of the locks that were used for it."""

    payments = models.IntegerField(default=0)
    fence = models.BigIntegerField(default=0)

    class Meta:
        app_label = "shop"
        db_table = "bills"


def errors(get_response):
    """Has errors of locks answered with a status: 503 says that the request may be sent again."""

    def middleware(request):
        return get_response(request)

    def process_exception(_, error):
        if isinstance(error, lockserver.NotAcquired):
            return JsonResponse({"error": str(error)}, status=409)
        if isinstance(error, (lockserver.StaleFence, lockserver.LockLost, lockserver.NoConnection)):
            return JsonResponse({"error": str(error)}, status=503)
        if isinstance(error, LookupError):
            return JsonResponse({"error": str(error)}, status=404)
        return None

    middleware.process_exception = process_exception
    return middleware


settings.MIDDLEWARE = [f"{__name__}.errors"]


@csrf_exempt
@require_POST
def pay(request, number):
    # The lock is outside of the transaction, so that it is released after the commit.
    with locks.lock(f"bill:{number}", wait=WAIT) as held, transaction.atomic():
        lockserver.fence(connection, "bills", number, held.token)  # before the row is read
        bill = Bill.objects.get(id=number)
        if bill.payments > 0:
            return JsonResponse({"outcome": "paid already"})
        bill.payments += 1
        bill.save(update_fields=["payments"])  # not the fence, which Django has read
        return JsonResponse({"outcome": "paid"})


urlpatterns = [path("bills/<int:number>/payments", pay)]

if __name__ == "__main__":
    from django.core.management import execute_from_command_line
    execute_from_command_line(sys.argv)
