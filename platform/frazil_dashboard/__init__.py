"""Pages over the tables: how they stand, and what pipelines show of them. The extra `dashboard`."""

from frazil.extras import Extra

DASHBOARD = Extra("dashboard", "The dashboard", ("streamlit", "duckdb"))
