"""Commands for the day after the worst one."""
