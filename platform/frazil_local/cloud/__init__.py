"""Clouds on this machine that say no: for deployments, in stacks that are started `--with cloud`."""
