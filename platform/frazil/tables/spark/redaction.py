"""How secrets of a session stay out of what Spark shows of it: its UI, its log of events, `SET`."""

from __future__ import annotations

SPARK_CATALOG = "frazil"
"""Name under which Spark sessions know the catalog."""

_KEYS = ("access-key-id", "secret-access-key", "session-token")

SECRETS = tuple(
    f"spark.sql.catalog.{SPARK_CATALOG}.{name}"
    for name in (
        "credential",
        "token",
        "client.assume-role.external-id",
        *(f"{client}.{key}" for client in ("s3", "rest") for key in _KEYS),
    )
)
"""Settings of a session that hold a secret of the catalog, or of its storage."""

OF_SERVER = {
    "spark.redaction.regex": "(?i)secret|password|token|access[.-]?key|credential|external-id",
    **dict.fromkeys(SECRETS, "none"),
}
"""What a server needs: of a session's settings its log of events hides only those that it has itself
(Spark's `EventLoggingListener.redactProperties`). Sessions do not go by these values."""

OF_SESSION = {
    # Options of Kafka's source, as plans are shown: passwords, and keys as PEM.
    "spark.sql.redaction.string.regex": r'(?s)key: "kafka\.(sasl|ssl)\.[^"]*"\s*value: "([^"\\]|\\.)*"',
}
