"""A database that changes, and Debezium behind it: for stacks that are started `--with northwind`."""
