"""Deployments in Confluent Cloud, AWS and Snowflake: made, proven, rotated and removed. The extra `cloud`."""

from frazil.extras import Extra

CLOUD = Extra("cloud", "What makes deployments", ("jsonpatch",))
