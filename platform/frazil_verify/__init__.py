"""A verifier of Frazil's tables that shares no code with the engine that writes them.

It reads a topic by librdkafka and a table by its Iceberg metadata, its manifests and its Parquet files, maps
values by docs/types.md, and says which records and which rows do not belong together. It imports nothing of
`frazil`; `frazil verify` starts it as a process and hands it a `Request` on its standard input.
"""
